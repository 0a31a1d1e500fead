"""What fails for a while is sent again after a pause, and what failed together goes together again."""

import threading
import time
import unittest
from typing import Any
from unittest import mock

from support import working

from dibs_client import Ack, ConnectionFailed, DibsError, Job, Producer, Worker
from dibs_client.run import Run
from dibs_client.state import Settlement
from dibs_client.testing import FakeDibs

BUSY = DibsError({"type": "urn:problem-type:dibs:unavailable", "status": 503, "code": "unavailable"}, retry_after=1)
WRONG = DibsError({"type": "urn:problem-type:dibs:invalid_request", "status": 400, "code": "invalid_request"})


def watched() -> tuple[Worker, list[Any]]:
    """A worker that does not run, and what tells it the answer of each request: each look is one of the test."""
    worker = Worker(FakeDibs().client, ["mail"], lambda job: None, session=False)
    sent: list[Any] = []
    worker._send = lambda request, answered: sent.append(answered)  # type: ignore[method-assign]
    return worker, sent


class Stage(unittest.TestCase):
    """A worker whose looks are those of the test, by a clock of the test's. Each pause is as long as it may be."""

    def setUp(self) -> None:
        self.now = 1000.0
        for name, stand_in in (("time.monotonic", lambda: self.now), ("dibs_client.errors.chance", lambda: 1.0)):
            patch = mock.patch(name, stand_in)
            patch.start()
            self.addCleanup(patch.stop)
        self.worker, self.sent = watched()
        self.worker._phase = "running"
        self.worker._begin = lambda run: None  # type: ignore[method-assign]
        self.events: list[str] = []
        self.worker._observe = lambda event: self.events.append(event["type"])  # type: ignore[method-assign]

    def look(self, seconds: float = 0) -> tuple[int, bool, bool]:
        """Some time later. How many requests were sent so far, and whether a claim goes by itself, or with a settlement."""
        self.now += seconds
        self.again = self.worker._look() - self.now
        is_carried = self.worker._carries
        return len(self.sent), self.worker._is_claiming and not is_carried, is_carried

    def settle(self, count: int = 1) -> list[Settlement]:
        said = []
        for n in range(count):
            lease = {"id": f"job-{n}", "queue": "mail", "lease_token": f"t{n}", "lease_seconds": 3600}
            run = Run(lease, session=None, is_doubtful=False)
            self.worker._runs.add(run)
            said.append(Settlement(run, Ack()))
            self.worker._settle(said[-1])
        return said


class ClaimTest(Stage):
    def answer(self, jobs: int = 0, after: float = 0) -> None:
        """An answer to the claim that went last."""
        self.now += after
        lease = {"id": "job-9", "queue": "mail", "lease_token": str(len(self.sent)), "lease_seconds": 3600}
        self.sent[-1]([lease] * jobs, None)

    def pauses(self, count: int) -> list[float]:
        """Those after so many claims that are answered empty at once."""
        found = []
        for _ in range(count):
            self.answer()
            before = len(self.sent)
            self.assertEqual(self.look(), (before, False, False))
            found.append(round(self.again, 3))
            self.assertEqual(self.look(self.again), (before + 1, True, False))
        return found

    def test_claims_that_are_answered_empty_at_once_wait_out_a_pause_that_doubles_and_nobody_is_told(self):
        """A proxy, or a replica that drains, may answer so."""
        self.look()
        self.assertEqual(self.pauses(7), [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0])
        self.assertEqual(self.events, [])

    def test_an_answer_with_jobs_or_after_a_wait_ends_these_pauses(self):
        self.look()
        for jobs, after in ((1, 0), (0, 0.5)):
            self.pauses(3)
            before = len(self.sent)
            self.answer(jobs, after)
            self.assertEqual(self.look(), (before + 1, True, False))
            self.assertEqual(self.pauses(1), [0.1])

    def test_a_claim_that_should_not_wait_may_be_answered_empty_at_once(self):
        """That of a settlement, and that of a worker whose `wait_seconds` are less than 1. It says nothing of the others."""
        self.look()
        self.pauses(2)
        self.answer()
        self.settle()
        self.assertEqual(self.look(3), (4, False, True))
        self.sent[-1](({"ack": [{"status": 200}]}, []), None)
        self.assertEqual(self.look(), (5, True, False))
        self.assertEqual(self.pauses(1), [0.8])
        self.worker._wait_seconds = 0.9
        self.pauses(1)
        self.answer()
        self.assertEqual(self.look(), (8, True, False))


class SettleTest(Stage):
    def test_a_claim_that_a_failed_settlement_carried_waits_out_the_pause_too_and_then_goes_by_itself(self):
        """A settlement at which Dibs always fails keeps nobody from claiming."""
        self.settle()
        self.assertEqual(self.look(), (1, False, True))
        self.sent[0](None, BUSY)
        self.assertEqual(self.look(), (1, False, False))
        self.assertEqual(self.look(self.again), (3, True, False))
        self.assertTrue(self.worker._is_settling)

    def test_settlements_that_failed_together_go_together_again(self):
        """Each with a pause of its own, they would be many requests."""
        said = self.settle(500)
        with mock.patch("dibs_client.errors.chance", iter(n / 10_000 for n in range(1, 10_000)).__next__):
            for requests in range(1, 8):
                self.assertEqual(self.look(3), (requests, False, True))
                self.sent[-1](({"ack": [{"status": 503}] * 500}, []), None)
                self.assertEqual(len({one.not_before for one in said}), 1)

    def test_a_settlement_that_was_refused_with_a_claim_goes_once_more_by_itself_before_it_is_judged(self):
        """It may be the claim that is wrong."""
        [said] = self.settle()
        self.assertEqual(self.look(), (1, False, True))
        self.sent[0](None, WRONG)
        self.assertEqual(self.events, [])
        self.assertEqual(self.look(), (3, True, False))
        self.sent[1](({"ack": [{"status": 200}]}, None), None)
        self.assertEqual((said.run.state, self.events), ("done", ["settled"]))

    def test_a_settlement_that_is_refused_by_itself_is_judged(self):
        self.settle()
        self.look()
        self.sent[0](None, WRONG)
        self.look()
        self.sent[1](None, WRONG)
        self.assertEqual(self.events, ["refused", "failed"])

    def test_settlements_that_go_alone_carry_no_claim(self):
        self.settle(3)
        self.look()
        self.sent[0](None, WRONG)
        for requests in (3, 5, 7):
            self.assertEqual(self.look(), (requests, True, False))
            self.sent[-1]([], None)
            self.sent[-2](({"ack": [{"status": 200}]}, None), None)
            self.now += 3

    def test_a_claim_that_was_refused_with_settlements_goes_again_with_its_id(self):
        """None is dropped: it may have leases."""
        self.settle(2)
        self.look()
        claim = self.worker._claim
        self.sent[0](None, WRONG)
        self.look()
        self.assertIs(self.worker._claim, claim)

    def test_a_claim_that_is_itself_wrong_is_refused_by_itself_and_ends_the_worker_and_the_acks_count(self):
        said = self.settle(2)
        self.look()
        self.sent[0](None, WRONG)
        self.look()
        self.sent[2](None, WRONG)
        self.look()
        for n in (1, 3):
            self.sent[n](({"ack": [{"status": 200}]}, None), None)
            self.look()
        self.assertEqual([one.run.state for one in said], ["done", "done"])
        self.assertEqual((self.worker._phase, self.worker._error), ("stopped", WRONG))


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
