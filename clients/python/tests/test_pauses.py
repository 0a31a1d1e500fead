"""What fails for a while is sent again after a pause, and what failed together goes together again."""

import threading
import time
import unittest
from typing import Any

from support import working

from dibs_client import Ack, ConnectionFailed, DibsError, Job, Producer, Worker
from dibs_client.run import Run
from dibs_client.state import Settlement
from dibs_client.testing import FakeDibs

BUSY = DibsError({"type": "urn:problem-type:dibs:unavailable", "status": 503, "code": "unavailable"}, retry_after=1)


def watched() -> tuple[Worker, list[Any]]:
    """A worker that does not run, and what tells it the answer of each request: each look is one of the test."""
    worker = Worker(FakeDibs().client, ["mail"], lambda job: None, session=False)
    sent: list[Any] = []
    worker._send = lambda request, answered: sent.append(answered)  # type: ignore[method-assign]
    return worker, sent


class SettleTest(unittest.TestCase):
    def test_a_claim_that_a_failed_settlement_carried_waits_out_the_pause_too_and_then_goes_by_itself(self):
        """A settlement at which Dibs always fails keeps nobody from claiming."""
        worker, sent = watched()
        worker._phase = "running"
        run = Run({"id": "job-1", "lease_token": "t", "lease_seconds": 3600}, session=None, is_doubtful=False)
        worker._runs.add(run)
        worker._settle(Settlement(run, Ack()))
        worker._look()
        sent[0](None, BUSY)
        again = worker._look()
        self.assertEqual(len(sent), 1)
        time.sleep(max(0, again - time.monotonic()))
        worker._look()
        self.assertEqual((len(sent), worker._is_settling, worker._is_claiming, worker._carries), (3, True, True, False))


class ExtendTest(unittest.TestCase):
    def setUp(self) -> None:
        self.worker, self.sent = watched()

    def run_with(self, lease_seconds: float = 3600) -> Run:
        """Its extend is due."""
        lease = {"id": str(len(self.worker._runs)), "lease_token": "t", "lease_seconds": lease_seconds}
        run = Run(lease, session=None, is_doubtful=True)
        self.worker._runs.add(run)
        return run

    def look(self) -> float:
        """Tells when the next look is due."""
        self.now = time.monotonic()
        return self.worker._beat(self.now)

    def test_an_extend_that_failed_is_sent_again_after_the_pause_and_not_before(self):
        """However long the lease is: an hour's extend would be due soon for 108 s."""
        self.run_with()
        self.look()
        self.sent[0](None, BUSY)
        again = self.worker._beat(self.now)
        self.assertEqual((len(self.sent), again > self.now + 1), (1, True))
        self.worker._beat(again)
        self.assertEqual(len(self.sent), 2)

    def test_extends_that_failed_together_go_together_again(self):
        for lease_seconds in (5, 30, 3600):
            self.run_with(lease_seconds)
        self.look()
        for results, error in ((None, ConnectionFailed("it broke")), ([{"status": 503}] * 3, None)):
            self.sent[-1](results, error)
            before = len(self.sent)
            self.worker._beat(min(run.due() for run in self.worker._runs))
            self.assertEqual((len(self.sent), {run.extending for run in self.worker._runs}), (before + 1, {True}))

    def test_a_report_goes_at_once_and_after_a_failure_it_waits_out_the_pause_a_newer_one_too(self):
        run = self.run_with()
        self.look()
        self.sent[0]([{"status": 200}], None)
        run.report = (1, [])
        self.look()
        self.assertEqual(len(self.sent), 2)
        self.sent[1](None, BUSY)
        for value in (1, 2):
            self.assertEqual(run.report[0], value)
            self.assertGreater(self.worker._beat(self.now), self.now + 1)
            run.report = (2, [])
        self.assertEqual(len(self.sent), 2)
        self.worker._beat(run.due())
        self.sent[2]([{"status": 200}], None)
        run.report = (3, [])
        self.look()
        self.assertEqual(len(self.sent), 4)


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dibs = FakeDibs()
        Producer(self.dibs.client, queue="mail").enqueue({})

    def test_a_report_that_fails_for_a_while_is_sent_again_after_the_pause_that_dibs_asks_for(self):
        extend, times = self.dibs.client.extend_lease, []

        def busy(*given: Any, **more: Any) -> Any:
            times.append(time.monotonic())
            if len(times) < 3:
                raise BUSY
            return extend(*given, **more)

        self.dibs.client.extend_lease = busy  # type: ignore[method-assign]
        with working(self.dibs.client, lambda job: job.progress(1)):
            self.dibs.wait_until_done(60)
        self.assertEqual((len(times), self.dibs.jobs[0].progress), (3, 1))
        self.assertGreater(min(times[1] - times[0], times[2] - times[1]), 0.99)

    def test_a_report_whose_request_gets_no_thread_is_sent_again(self):
        start = threading.Thread.start
        refused = []

        def handler(job: Job) -> None:
            threading.Thread.start = never  # type: ignore[method-assign]
            job.progress(1)

        def never(thread: threading.Thread) -> None:
            threading.Thread.start = start  # type: ignore[method-assign]
            refused.append(thread)
            raise RuntimeError("can't start new thread")

        try:
            with working(self.dibs.client, handler, concurrency=1):
                self.dibs.wait_until_done(60)
        finally:
            threading.Thread.start = start  # type: ignore[method-assign]
        self.assertEqual((len(refused), self.dibs.jobs[0].state, self.dibs.jobs[0].progress), (1, "completed", 1))


if __name__ == "__main__":
    unittest.main()
