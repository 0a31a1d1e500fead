"""Whatever a handler ends with is a result. The conformance suite plays more odd ends: clients/python/odd_ends.py."""

import asyncio
import functools
import os
import pickle
import sys
import threading
import unittest
from typing import Any

from support import until, working

from dibs_client import Ack, AsyncWorker, DibsError, Job, Nack, Producer, Release, Worker
from dibs_client.job import as_outcome, second_word, settlement
from dibs_client.testing import FakeDibs
from odd_ends import ASYNC_ODD_ENDS, ODD_ENDS, Mute

LEASE = {"id": "job-1", "lease_token": "t"}


class EndingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dibs = FakeDibs()
        self.producer = Producer(self.dibs.client, queue="mail")

    def assert_all_dead(self) -> None:
        *odd, last = self.dibs.jobs
        for job in odd:
            self.assertEqual(job.state, "dead", job.payload)
            self.assertTrue(job.error.strip(), job.payload)
            self.assertEqual(job.attempt, job.deliveries, job.payload)
        self.assertEqual(last.state, "completed")

    def test_each_odd_end_is_a_failure_and_its_place_is_free(self):
        for name in [*ODD_ENDS, "none"]:
            self.producer.enqueue({"payload": name})
        with working(self.dibs.client, lambda job: ODD_ENDS.get(job.payload, lambda: None)(), concurrency=1):
            self.dibs.wait_until_done(60)
        self.assert_all_dead()

    def test_each_odd_end_of_a_coroutine_is_a_failure_and_its_place_is_free(self):
        ends = {**{name: self._async(end) for name, end in ODD_ENDS.items()}, **ASYNC_ODD_ENDS}
        for name in [*ends, "none"]:
            self.producer.enqueue({"payload": name})

        async def nothing() -> None:
            pass

        async def main() -> None:
            worker = AsyncWorker(self.dibs.client, ["mail"], lambda job: ends.get(job.payload, nothing)(), concurrency=1)
            running = asyncio.ensure_future(worker.run())
            await asyncio.to_thread(self.dibs.wait_until_done, 60)
            worker.stop()
            await running

        asyncio.run(main())
        self.assert_all_dead()

    @staticmethod
    def _async(end):
        async def act():
            return end()

        return act

    def test_what_a_decoder_a_middleware_and_an_observer_end_with_harms_nobody(self):
        def exits(*_):
            raise SystemExit("from within")

        for what in ({"decode": exits}, {"middleware": [exits]}, {"observe": exits}):
            with self.subTest(what), working(self.dibs.client, lambda job: None, **what):
                self.producer.enqueue({})
                self.dibs.wait_until_done()
        self.assertEqual([job.state for job in self.dibs.jobs], ["dead", "dead", "completed"])

    def test_an_error_whose_text_hangs_holds_up_no_other_job(self):
        asked, left = threading.Event(), threading.Event()

        class Hanging(Exception):
            def __str__(self) -> str:
                asked.set()
                left.wait()
                return "at last"

        def handler(job: Job) -> None:
            if job.payload == "hangs":
                raise Hanging

        with working(self.dibs.client, handler):
            self.producer.enqueue({"payload": "hangs"})
            asked.wait()
            try:
                self.producer.enqueue({})
                until(lambda: self.dibs.jobs[1].state == "completed")
            finally:
                left.set()
            self.dibs.wait_until_done()
        self.assertIn("at last", self.dibs.jobs[0].error or "")

    def test_what_a_handler_ends_with_is_asked_nothing_under_the_lock_of_the_worker(self):
        """Also when Dibs refuses what was said first."""
        owned: list[bool] = []

        def asked(text: str) -> str:
            owned.append(worker._changed._is_owned())  # type: ignore[attr-defined]
            return text

        class Talking(Exception):
            def __str__(self) -> str:
                return asked("an error")

        class TalkingNack(Nack):
            def __str__(self) -> str:
                return asked("a nack")

        class TalkingResult(dict):
            def items(self) -> Any:
                return {"a": asked("a result")}.items()

        def nack() -> Nack:
            error = TalkingNack("", delay_seconds=-1)
            error.__cause__ = Talking()
            return error

        def handler(job: Job) -> Any:
            if job.payload == "result":
                return TalkingResult(a=1)
            raise Talking if job.payload == "error" else nack()

        request = self.dibs.client.request

        def refusing(method: str, path: str, body: Any = None, **options: Any) -> Any:
            if '"delay_seconds": -1' in str(body):
                raise DibsError({"type": "urn:problem-type:dibs:invalid_request", "status": 400, "code": "invalid_request"})
            return request(method, path, body, **options)

        self.dibs.client.request = refusing  # type: ignore[method-assign]
        for payload in ("result", "error", "nack"):
            self.producer.enqueue({"payload": payload})
        with working(self.dibs.client, handler) as worker:
            self.dibs.wait_until_done()
        self.assertEqual([job.state for job in self.dibs.jobs], ["completed", "dead", "dead"])
        self.assertRegex(self.dibs.jobs[2].error or "", "a nack.*an error(.|\n)*the nack was refused")
        self.assertEqual(set(owned), {False})

    def test_a_worker_without_threads_gives_its_job_back_and_goes_on(self):
        start = threading.Thread.start
        refused = []

        def sometimes(thread):
            if len(refused) < 6 and thread._args and thread._args[0].__name__ in ("_work", "act"):
                refused.append(thread)
                raise RuntimeError("can't start new thread")
            start(thread)

        self.producer.enqueue({})
        threading.Thread.start = sometimes
        try:
            with working(self.dibs.client, lambda job: "done"):
                self.dibs.wait_until_done()
        finally:
            threading.Thread.start = start
        self.assertEqual((self.dibs.jobs[0].state, len(refused)), ("completed", 6))


class CoroutineTest(unittest.TestCase):
    def test_a_worker_of_threads_takes_no_coroutine_function(self):
        """All its jobs would be dead: a coroutine is no result."""

        async def handler(job: Job, *more: Any) -> None:
            pass

        class Handler:
            async def __call__(self, job: Job) -> None:
                pass

        client = FakeDibs().client
        for wrong in (handler, functools.partial(handler, more=1), Handler()):
            with self.assertRaisesRegex(ValueError, "AsyncWorker"):
                Worker(client, ["mail"], wrong)
            AsyncWorker(client, ["mail"], wrong)
        with self.assertRaisesRegex(ValueError, "AsyncWorker"):
            Worker(client, ["mail"], lambda job: None, middleware=[handler])


class OutcomeTest(unittest.TestCase):
    def test_a_nack_or_release_that_is_no_json_becomes_a_nack_that_says_why(self):
        for delay in (float("nan"), float("inf"), 10**5000, {1, 2}, lambda: None):
            _, verb, text = settlement(LEASE, Nack("the reason", delay_seconds=delay))
            self.assertEqual(verb, "nack")
            self.assertIn("the reason", text)
            self.assertNotIn("delay_seconds\":", text)
            _, verb, text = settlement(LEASE, Release(delay))
            self.assertEqual(verb, "nack")
            self.assertIn("the release was refused", text)

    def test_a_follow_up_that_is_no_json_becomes_a_nack_that_says_why(self):
        for outcome in (Ack("done", [{"payload": {1, 2}}]), Nack("the reason", enqueue=[{"payload": object()}])):
            _, verb, text = settlement(LEASE, outcome)
            self.assertEqual(verb, "nack")
            self.assertIn("not JSON serializable", text)

    def test_a_nack_for_good_stays_one_when_it_is_refused(self):
        self.assertFalse(second_word(Nack("never", retry=False), "the delay is wrong").retry)
        self.assertTrue(second_word(Nack("later"), "the delay is wrong").retry)
        self.assertFalse(second_word(Ack("x" * 100), "too large").retry)

    def test_errors_and_outcomes_go_from_process_to_process(self):
        for error in (DibsError({"code": "forbidden", "status": 403}), Nack("no", retry=False, delay_seconds=5), Release(3)):
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy), vars(copy)), (type(error), str(error), vars(error)))

    def test_an_error_of_many_megabytes_is_cut(self):
        for error in (ValueError("x" * 50_000_000), Nack("x" * 50_000_000)):
            *_, text = settlement(LEASE, as_outcome(error))
            self.assertLessEqual(len(text), 20_000)


class ChildTest(unittest.TestCase):
    def test_a_forked_child_ends_whatever_its_handler_ends_with(self):
        class Codeless(SystemExit):
            code = property(lambda self: 1 / 0)  # type: ignore[assignment]

        class Broken:
            def __getattr__(self, name: str) -> Any:
                raise KeyboardInterrupt

        dibs = FakeDibs()
        ends = {"mute": Mute, "codeless": Codeless, "told": lambda: ValueError("no such customer"), "exit": lambda: SystemExit(7)}
        for name in ends:
            Producer(dibs.client, queue="mail").enqueue({"payload": name})

        def handler(job: Job) -> int:
            child = os.fork()
            if child == 0:
                sys.stdout = sys.stderr = Broken()  # type: ignore[assignment]
                raise ends[job.payload]()
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        with working(dibs.client, handler):
            dibs.wait_until_done()
        self.assertEqual([job.result for job in dibs.jobs], [1, 1, 1, 7])

    def test_progress_in_a_forked_child_is_refused(self):
        """Progress of a forked child would wait for a thread that it has not."""
        dibs = FakeDibs()
        Producer(dibs.client, queue="mail").enqueue({})

        def handler(job: Job) -> int:
            child = os.fork()
            if child == 0:
                try:
                    job.progress(1)
                except RuntimeError:
                    os._exit(7)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        with working(dibs.client, handler):
            dibs.wait_until_done()
        self.assertEqual((dibs.jobs[0].result, dibs.jobs[0].progress), (7, None))


if __name__ == "__main__":
    unittest.main()
