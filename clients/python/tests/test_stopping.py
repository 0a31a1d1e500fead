"""`stop` may be called whenever and wherever. To interrupt or cancel `run` is a graceful stop."""

import asyncio
import contextvars
import logging
import math
import os
import signal
import socket
import threading
import time
import unittest

from support import answering, page, problem, working

from dibs_client import AsyncProducer, AsyncWorker, Client, DibsError, Job, Producer, Worker
from dibs_client.testing import FakeDibs


class Presses:
    """Ctrl-C, pressed so many times. Each one is heard while `run` waits, and before the next one is pressed."""

    def __init__(self) -> None:
        self._due = self._heard = 0

    def press(self, count: int) -> None:
        for self._due in range(1, count + 1):
            while self._heard < self._due:
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(0.01)

    def heard(self, _: int, frame) -> None:
        if self._heard < self._due and frame.f_code.co_name == "wait":
            self._heard += 1
            raise KeyboardInterrupt


class StopTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dibs = FakeDibs()
        self.producer = Producer(self.dibs.client, queue="mail")

    def test_before_run_and_twice_and_after_the_end(self):
        self.producer.enqueue({})
        worker = Worker(self.dibs.client, ["mail"], lambda job: None)
        worker.stop()
        worker.stop(math.nan)
        worker.run()
        worker.stop()
        self.assertEqual(self.dibs.jobs[0].deliveries, 0)
        with self.assertRaisesRegex(RuntimeError, "once"):
            worker.run()

    def test_the_earliest_deadline_counts_and_no_time_means_now(self):
        for bad in (-1, math.nan, -math.inf, "soon", -(10**400)):
            self.producer.enqueue({})
            begun = threading.Event()

            def handler(job: Job) -> None:
                begun.set()
                job.sleep(math.inf)

            worker = Worker(self.dibs.client, ["mail"], handler, stop_seconds=math.inf)
            thread = threading.Thread(target=worker.run, daemon=True)
            thread.start()
            begun.wait()
            worker.stop()
            worker.stop(10**400)
            worker.stop(bad)
            worker.stop(math.inf)
            thread.join(10)
            self.assertFalse(thread.is_alive(), bad)
            self.assertEqual(self.dibs.jobs[0].attempt, 0)

    def test_by_a_handler(self):
        self.producer.enqueue({})
        worker = Worker(self.dibs.client, ["mail"], lambda job: worker.stop())
        worker.run()
        self.assertEqual(self.dibs.jobs[0].state, "completed")

    def test_by_an_observer_at_every_event(self):
        for kind in ("claimed", "started", "ended", "settled", "stopping", "stopped"):
            dibs = FakeDibs()
            Producer(dibs.client, queue="mail").enqueue({})

            def observe(event):
                if event["type"] == kind:
                    worker.stop()
                    # Another thread of the observer, for which it waits.
                    helper = threading.Thread(target=worker.stop)
                    helper.start()
                    helper.join()

            worker = Worker(dibs.client, ["mail"], lambda job: None, observe=observe)
            if kind in ("stopping", "stopped"):
                worker.stop()
            worker.run()

    def test_an_observer_that_never_returns_keeps_no_lease_and_no_end(self):
        self.producer.enqueue({})
        stuck = threading.Event()
        with working(self.dibs.client, lambda job: "done", observe=lambda event: stuck.wait()):
            self.dibs.wait_until_done()
        stuck.set()

    def test_a_signal_handler_that_stops_while_the_main_thread_holds_the_lock_of_the_log(self):
        """The observer logs, too: neither waits for the other."""
        lock = logging.Handler().lock
        done = threading.Event()

        def observe(event):
            with lock:
                pass

        self.producer.enqueue({})
        with working(self.dibs.client, lambda job: done.set(), observe=observe) as worker, lock:
            done.wait(5)
            worker.stop()

    def test_events_come_in_order_and_the_last_one_before_the_end(self):
        self.producer.enqueue({})
        events = []

        def observe(event):
            events.append(event["type"])
            if event["type"] == "settled":
                worker.stop()

        worker = Worker(self.dibs.client, ["mail"], lambda job: None, observe=observe)
        worker.run()
        self.assertEqual(events, ["claimed", "started", "ended", "settled", "stopping", "stopped"])

    def test_an_observer_may_write_into_what_it_is_told_and_a_handler_into_its_lease(self):
        def observe(event):
            for job in event.pop("jobs", [event.pop("job", {})]):
                job.clear()
            event.clear()

        def handler(job: Job) -> str:
            seen.append(job.lease["id"])
            job.lease.clear()
            job.progress(1)
            raise ValueError("no such customer")

        seen: list[str] = []
        self.producer.enqueue({})
        with self.assertLogs("dibs_client") as logs, working(self.dibs.client, handler, observe=observe):
            self.dibs.wait_until_done()
        self.assertEqual((self.dibs.jobs[0].state, self.dibs.jobs[0].progress, seen), ("dead", 1, ["job-1"] * 5))
        self.assertRegex(logs.output[-1], "job job-1 of queue mail failed at attempt 5 of 5 and is dead: ValueError")

    def test_ctrl_c_in_run_is_a_graceful_stop_and_is_raised_at_the_end(self):
        for error in (KeyboardInterrupt, SystemExit):
            self.producer.enqueue({})

            def handler(job: Job) -> str:
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(0.3)
                return "whole"

            def interrupt(*_):
                raise error

            before = signal.signal(signal.SIGUSR1, interrupt)
            began = time.monotonic()
            try:
                with self.assertRaises(error):
                    Worker(self.dibs.client, ["mail"], handler).run()
            finally:
                signal.signal(signal.SIGUSR1, before)
            self.assertEqual(self.dibs.jobs[-1].result, "whole")
            # A signal that comes just before a wait is heard after it.
            self.assertLess(time.monotonic() - began, 30)

    def test_a_second_ctrl_c_makes_the_deadline_now_and_a_third_leaves(self):
        for count, is_released in ((2, True), (3, False)):
            dibs = FakeDibs()
            Producer(dibs.client, queue="mail").enqueue({})
            left = threading.Event()
            presses = Presses()

            def handler(job: Job) -> None:
                presses.press(count)
                if is_released:
                    job.sleep(60)
                left.wait(60)

            before = signal.signal(signal.SIGUSR1, presses.heard)
            began = time.monotonic()
            try:
                with self.assertRaises(KeyboardInterrupt):
                    Worker(dibs.client, ["mail"], handler, stop_seconds=1000).run()
            finally:
                signal.signal(signal.SIGUSR1, before)
                left.set()
            self.assertLess(time.monotonic() - began, 30)
            self.assertEqual(dibs.jobs[0].state, "ready" if is_released else "leased")


class CancelTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dibs = FakeDibs()
        self.producer = Producer(self.dibs.client, queue="mail")

    def test_run_that_is_cancelled_lets_its_handlers_end_and_takes_no_more_jobs(self):
        self.producer.enqueue({})
        begun = asyncio.Event()

        async def handler(job: Job) -> str:
            begun.set()
            await asyncio.sleep(0.5)
            return "whole"

        async def main() -> None:
            running = asyncio.ensure_future(AsyncWorker(self.dibs.client, ["mail"], handler).run())
            await begun.wait()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(running, 0.2)
            self.producer.enqueue({})
            await asyncio.sleep(0.3)

        asyncio.run(main())
        self.assertEqual([(job.state, job.result) for job in self.dibs.jobs], [("completed", "whole"), ("ready", None)])

    def test_a_worker_that_runs_already_is_not_harmed_by_a_second_run(self):
        self.producer.enqueue({})

        async def handler(job: Job) -> None:
            with self.assertRaises(RuntimeError):
                await worker.run()
            with self.assertRaises(RuntimeError):
                await asyncio.to_thread(lambda: asyncio.run(worker.run()))
            worker.stop()

        worker = AsyncWorker(self.dibs.client, ["mail"], handler)
        asyncio.run(worker.run())
        self.assertEqual(self.dibs.jobs[0].state, "completed")

    def test_a_second_cancel_makes_the_deadline_now(self):
        self.producer.enqueue({})

        begun = asyncio.Event()

        async def handler(job: Job) -> None:
            begun.set()
            await asyncio.sleep(1000)

        async def main() -> None:
            task = asyncio.ensure_future(AsyncWorker(self.dibs.client, ["mail"], handler, stop_seconds=1000).run())
            await begun.wait()
            for _ in range(2):
                task.cancel()
                await asyncio.sleep(0.1)
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        self.assertEqual((self.dibs.jobs[0].state, self.dibs.jobs[0].attempt), ("ready", 0))

    def test_a_loop_that_ends_gives_its_jobs_back_uncharged(self):
        """`asyncio.run` cancels the task of `run`, and those of the handlers."""
        self.producer.enqueue({})
        begun = asyncio.Event()

        async def handler(job: Job) -> None:
            begun.set()
            await asyncio.sleep(1000)

        async def main() -> None:
            task = asyncio.ensure_future(AsyncWorker(self.dibs.client, ["mail"], handler).run())
            await begun.wait()
            del task

        asyncio.run(main())
        self.assertEqual((self.dibs.jobs[0].state, self.dibs.jobs[0].attempt), ("ready", 0))

    def test_a_loop_that_is_closed_takes_no_more_jobs(self):
        async def handler(job: Job) -> None:
            pass

        worker = AsyncWorker(self.dibs.client, ["mail"], handler)
        loop = asyncio.new_event_loop()
        task = loop.create_task(worker.run())
        loop.run_until_complete(asyncio.sleep(0.2))
        loop.close()
        self.producer.enqueue({})
        end = time.monotonic() + 10
        while worker._phase != "stopped" and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual((worker._phase, self.dibs.jobs[0].attempt), ("stopped", 0))
        task._log_destroy_pending = False

    def test_a_job_that_is_cancelled_before_its_first_step_is_given_back(self):
        """The loop is busy when the job comes, and the worker stops meanwhile."""
        begun = []

        async def handler(job: Job) -> None:
            begun.append(job.id)

        async def main() -> None:
            worker = AsyncWorker(self.dibs.client, ["mail"], handler)
            running = asyncio.ensure_future(worker.run())
            await asyncio.sleep(0.2)
            self.producer.enqueue({})
            time.sleep(0.3)  # The job is leased, and its task has not begun.
            worker.stop(0)
            time.sleep(0.3)
            await running

        asyncio.run(main())
        self.assertEqual((begun, self.dibs.jobs[0].state, self.dibs.jobs[0].attempt), ([], "ready", 0))

    def test_workers_and_producers_leave_asyncios_own_threads_alone(self):
        """It has a few threads for the whole process, and `getaddrinfo` needs one."""
        many = 40

        async def handler(job: Job) -> None:
            await worker.progress(job, 1)

        async def main() -> None:
            workers = [AsyncWorker(self.dibs.client, ["mail"], handler) for _ in range(many)]
            tasks = [asyncio.ensure_future(one.run()) for one in workers]
            await asyncio.sleep(0.2)
            with answering(lambda *_: page(503)) as url:
                producer = AsyncProducer(Client(url), retry_seconds=60)
                stuck = [asyncio.ensure_future(producer.enqueue({})) for _ in range(many)]
                await asyncio.sleep(0.2)
                await asyncio.wait_for(asyncio.get_running_loop().getaddrinfo("localhost", 80), 10)
                before = threading.active_count()
                for task in stuck:
                    task.cancel()
                await asyncio.wait(stuck)
                self.assertLess(before, many * 4 + 40)
            for one in workers:
                one.stop()
            await asyncio.gather(*tasks)

        worker = AsyncWorker(self.dibs.client, ["mail"], handler)
        asyncio.run(main())

    def test_an_enqueue_that_is_cancelled_is_not_repeated(self):
        requests = []

        def answer(*request):
            requests.append(request)
            return page(503)

        async def main(url: str) -> None:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(AsyncProducer(Client(url), retry_seconds=60).enqueue({}), 0.3)

        with answering(answer) as url:
            asyncio.run(main(url))
            time.sleep(0.1)
            count = len(requests)
            time.sleep(3)
            self.assertLessEqual(len(requests) - count, 1)

    def test_what_a_worker_calls_sees_the_context_of_the_caller_of_run(self):
        tenant = contextvars.ContextVar("tenant", default="nobody")
        seen = set()

        def see(what):
            seen.add((what, tenant.get()))

        def handler(job: Job) -> None:
            see("handler")
            worker.stop()

        def run() -> None:
            tenant.set("acme")
            worker.run()

        self.producer.enqueue({})
        worker = Worker(self.dibs.client, ["mail"], handler, observe=lambda event: see("observer"))
        contextvars.copy_context().run(run)
        with answering(lambda *_: problem(403, "forbidden")) as url, self.assertRaises(DibsError):
            worker = Worker(Client(url, key=lambda: see("key")), ["mail"], handler)  # type: ignore[arg-type, return-value]
            contextvars.copy_context().run(run)
        self.assertEqual(seen, {(what, "acme") for what in ("handler", "observer", "key")})

    def test_handlers_and_producers_see_the_context_of_their_callers(self):
        tenant = contextvars.ContextVar("tenant")
        seen = []

        async def handler(job: Job) -> None:
            seen.append(tenant.get())
            worker.stop()

        async def main() -> None:
            tenant.set("acme")
            await AsyncProducer(self.dibs.client, queue="mail", headers=lambda: {"tenant": tenant.get()}).enqueue({})
            await worker.run()

        worker = AsyncWorker(self.dibs.client, ["mail"], handler)
        asyncio.run(main())
        self.assertEqual((seen, self.dibs.jobs[0].headers), (["acme"], {"tenant": "acme"}))


if __name__ == "__main__":
    unittest.main()
