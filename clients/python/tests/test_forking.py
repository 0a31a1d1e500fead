"""A client is used before and after a fork: each process has connections of its own."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
import unittest

from support import answering, sockets_of, until

from dibs_client import AsyncProducer, Client, ConnectionFailed, Job, Producer, Worker
from dibs_client.testing import FakeDibs


def echo(method, path, headers):
    time.sleep(0.002)
    return 200, {"content-type": "application/json"}, f'{{"id": "{headers["idempotency-key"]}"}}'


def count_wrong(producer: Producer, who: str) -> int:
    """How many answers are those of others."""
    wrong = 0
    for n in range(30):
        key = f"{who}-{n}"
        wrong += producer.enqueue({}, idempotency_key=key)["id"] != key
    return wrong


def in_child(act) -> int:
    """The number that `act` returns in a forked child, or 99."""
    child = os.fork()
    if child == 0:
        status = 99
        with contextlib.suppress(BaseException):
            status = min(act(), 98)
        os._exit(status)
    return child


def ended(child: int, limit: float = 60) -> int:
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if (found := os.waitpid(child, os.WNOHANG))[0]:
            return os.waitstatus_to_exitcode(found[1])
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


def enqueue_in_a_process(producer: Producer) -> None:
    raise SystemExit(count_wrong(producer, str(os.getpid())))


class ForkTest(unittest.TestCase):
    def test_each_process_gets_its_own_answers(self):
        with answering(echo) as url:
            producer = Producer(Client(url))
            producer.enqueue({})
            children = [in_child(lambda: count_wrong(producer, str(os.getpid()))) for _ in range(3)]
            self.assertEqual(count_wrong(producer, "parent"), 0)
            self.assertEqual([ended(child) for child in children], [0, 0, 0])

    def test_a_fork_while_many_threads_send(self):
        with answering(echo) as url:
            client = Client(url, key=lambda: "a-key")
            producer = Producer(client)
            is_over = threading.Event()
            wrong = []

            def send(n):
                while not is_over.is_set():
                    wrong.append(count_wrong(producer, f"thread-{n}"))

            threads = [threading.Thread(target=send, args=[n]) for n in range(6)]
            for thread in threads:
                thread.start()
            children = [in_child(lambda: count_wrong(producer, str(os.getpid()))) for _ in range(8)]
            self.assertEqual([ended(child) for child in children], [0] * 8)
            is_over.set()
            for thread in threads:
                thread.join()
            self.assertEqual(sum(wrong), 0)

    def test_a_fork_of_a_fork_and_threads_in_a_child(self):
        with answering(echo) as url:
            producer = Producer(Client(url))
            producer.enqueue({})

            def act() -> int:
                wrong = [count_wrong(producer, "child")]
                thread = threading.Thread(target=lambda: wrong.append(count_wrong(producer, "thread")))
                thread.start()
                wrong.append(ended(in_child(lambda: count_wrong(producer, "grandchild"))))
                thread.join()
                return sum(wrong)

            self.assertEqual(ended(in_child(act)), 0)

    def test_a_child_holds_no_connection_of_its_parent(self):
        """Dibs sees when the parent hangs up: also one that waits for jobs."""
        kept = sockets_of("self")  # Of the servers of other tests.
        server = socket.create_server(("127.0.0.1", 0))
        client = Client(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=60)

        def ask():
            with contextlib.suppress(Exception):
                client.get_queue("mail")

        threading.Thread(target=ask, daemon=True).start()
        accepted, _ = server.accept()
        accepted.recv(10_000)
        child = in_child(lambda: time.sleep(30) or 0)
        try:
            kept |= {f"socket:[{os.fstat(one.fileno()).st_ino}]" for one in (server, accepted)}
            until(lambda: sockets_of(child) <= kept)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            accepted.close()
            server.close()

    def test_calls_of_a_key_function_that_hang_in_the_parent_are_none_of_the_child(self):
        """A client with such calls can be pickled, too."""
        parent = os.getpid()
        is_over = threading.Event()

        def key():
            if os.getpid() == parent:
                is_over.wait()
            return "a-key"

        with answering(echo) as url:
            client = Client(url, key=key, timeout=0.01)
            for _ in range(40):
                with contextlib.suppress(ConnectionFailed):
                    client.get_queue("mail")
            client._timeout = 10
            self.assertEqual(ended(in_child(lambda: count_wrong(Producer(client), "child"))), 0)
            is_over.set()
            client._key._function = None
            pickle.loads(pickle.dumps(client))

    def test_with_multiprocessing(self):
        with answering(echo) as url:
            producer = Producer(Client(url))
            producer.enqueue({})
            for method in multiprocessing.get_all_start_methods():
                with self.subTest(method):
                    process = multiprocessing.get_context(method).Process(target=enqueue_in_a_process, args=[producer])
                    process.start()
                    self.assertEqual(count_wrong(producer, "parent"), 0)
                    process.join(60)
                    self.assertEqual(process.exitcode, 0)

    def test_clients_and_producers_can_be_copied_into_other_processes(self):
        with answering(echo) as url:
            client = Client(url, key="secret-key")
            client.get_queue("mail")
            for copy in pickle.loads(pickle.dumps((client, Producer(client)))):
                self.assertIsNotNone(copy)
            pickle.loads(pickle.dumps(AsyncProducer(client)))

    def test_a_worker_that_was_made_before_the_fork_runs_after_it(self):
        """As gunicorn --preload, or a master that forks its workers."""
        dibs = FakeDibs()
        Producer(dibs.client, queue="mail").enqueue({})
        events = []
        worker = Worker(dibs.client, ["mail"], lambda job: worker.stop(), observe=events.append)

        def act() -> int:
            worker.run()
            return int(dibs.jobs[0].state != "completed" or events[-1]["type"] != "stopped")

        self.assertEqual(ended(in_child(act)), 0)

    def test_stop_in_a_child_of_a_running_worker_returns(self):
        """A signal handler of the parent that stops its worker is one of the child, too."""
        dibs = FakeDibs()
        worker = Worker(dibs.client, ["mail"], lambda job: None)
        thread = threading.Thread(target=worker.run)
        thread.start()
        for _ in range(20):
            child = in_child(lambda: worker.stop() or 0)
            self.assertEqual(ended(child, 10), 0)
        self.assertTrue(thread.is_alive())
        worker.stop()
        thread.join(10)

    def test_a_signal_that_a_child_of_a_handler_gets_is_its_own(self):
        """As `multiprocessing.Process.terminate` sends it: the worker of the parent hears SIGTERM and goes on."""
        for before, expected in ((signal.SIG_DFL, -signal.SIGTERM), (lambda *_: os._exit(7), 7)):
            dibs = FakeDibs()
            Producer(dibs.client, queue="mail").enqueue({})

            def handler(job: Job) -> int:
                reads, writes = os.pipe()
                child = in_child(lambda: os.write(writes, b".") and time.sleep(60) or 0)
                os.read(reads, 1)
                os.kill(child, signal.SIGTERM)
                worker.stop()
                return ended(child)

            outer = signal.signal(signal.SIGTERM, before)
            try:
                worker = Worker(dibs.client, ["mail"], handler, stop_seconds=100)
                worker.run_until_signal()
            finally:
                signal.signal(signal.SIGTERM, outer)
            self.assertEqual(dibs.jobs[0].result, expected)


if __name__ == "__main__":
    unittest.main()
