"""PYTHONPATH=clients/python/src:clients/python python -m unittest discover -s clients/python/tests"""

import asyncio
import pickle
import threading
import time
import unittest
from typing import Any
from unittest import mock

from dibs_client import Ack, AsyncProducer, Client, ConnectionFailed, DibsError, Job, Producer, Worker
from dibs_client.testing import FakeDibs

BATCH = {"id": "batch-1", "state": "open"}
LOST = ConnectionFailed("it broke")


def refused(status: int, code: str, **more: Any) -> DibsError:
    return DibsError({"type": f"urn:problem-type:dibs:{code}", "status": status, "code": code, **more})


class Answering(Client):
    """A client that gets these answers, one after the other, the last one for all that follow. `sent` has what it was asked."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = answers
        self.sent: list[tuple[str, str, Any, dict[str, Any]]] = []

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = self.answers[min(len(self.sent), len(self.answers) - 1)]
        self.sent.append((method, path, body, options))
        if isinstance(answer, Exception):
            raise answer
        return answer


class InMemoryTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dibs = FakeDibs()
        self.producer = Producer(self.dibs.client, queue="pages", headers=lambda: {"tenant": "acme"})

    def work(self, handler: Any, act: Any) -> Any:
        """Works meanwhile."""
        worker = Worker(self.dibs.client, ["pages"], handler)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            return act()
        finally:
            worker.stop()
            thread.join()

    def test_a_producer_makes_a_batch_adds_closes_and_waits_a_handler_adds_and_what_follows_comes_once(self):
        batch = self.producer.batch(
            "pages", name="issue 12", jobs=[{"payload": 1}], on_success={"queue": "books"}, on_end={"queue": "log"}
        )
        batch.add({"payload": 2})
        batch.add_all([{"payload": 3}, {"payload": 4}])
        batch.close()
        with self.assertRaises(DibsError) as error:
            batch.add({})
        self.assertEqual(error.exception.code, "batch_closed")

        def handler(job: Job) -> Any:
            more = {"queue": "pages", "payload": 5, "batch": job.batch}
            return Ack(enqueue=[more]) if job.payload < 3 else None

        ended = self.work(handler, lambda: self.producer.batch_by_id(batch.id).wait(20))
        self.assertEqual((ended["state"], ended["counts"]["completed"]), ("succeeded", 6))
        self.assertEqual((batch.get()["name"], batch.get()["followers"]), ("issue 12", []))
        self.assertEqual([job.headers for job in self.dibs.enqueued("books")], [{"tenant": "acme"}])
        self.assertEqual(len(self.dibs.enqueued("log")), 1)

    def test_a_follow_up_of_a_job_that_is_in_no_batch_is_in_none(self):
        self.producer.enqueue({})
        self.work(lambda job: Ack(enqueue=[{"queue": "next", "batch": job.batch}]), lambda: self.until(1, "completed"))
        self.assertEqual([job.batch for job in self.dibs.enqueued("next")], [None])

    def test_a_job_whose_follow_up_is_for_a_closed_batch_is_dead_and_says_why(self):
        closed = self.producer.batch("pages", closed=True).id
        self.producer.enqueue({})
        self.work(lambda job: Ack(enqueue=[{"batch": closed}]), lambda: self.until(1, "dead"))
        self.assertRegex(self.dibs.jobs[0].error or "", "the ack was refused: .*batch_closed")

    def test_a_batch_that_is_cancelled_has_ended_and_nothing_follows(self):
        batch = self.producer.batch("pages", jobs=[{}], on_end={})
        batch.cancel()
        ended = batch.wait()
        self.assertEqual((ended["state"], ended["counts"]["cancelled"]), ("ended", 1))
        self.dibs.wait_until_done()
        self.assertEqual(len(self.dibs.jobs), 1)

    def test_with_asyncio(self):
        async def main() -> Any:
            producer = AsyncProducer(self.dibs.client, queue="pages")
            batch = await producer.batch("pages", jobs=[{}], on_success={"queue": "books"})
            await batch.add({})
            await batch.add_all([{}, {}])
            await batch.close()
            # Waits take no thread from what else the producer does.
            waits = [asyncio.ensure_future(producer.batch_by_id(batch.id).wait(20)) for _ in range(20)]
            with self.assertRaises(TimeoutError):
                await batch.wait(0.05)
            await batch.cancel()
            return (await asyncio.gather(*waits))[0], await batch.get()

        ended, seen = asyncio.run(main())
        self.assertEqual(ended["counts"]["cancelled"], 4)
        self.assertEqual(ended, seen)

    def until(self, count: int, state: str) -> None:
        end = time.monotonic() + 20
        while [job.state for job in self.dibs.jobs].count(state) < count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class RepeatsTest(unittest.TestCase):
    def test_a_new_batch_is_asked_for_again_where_dibs_says_that_it_was_not_made(self):
        client = Answering(refused(503, "unavailable", outcome="not_done"), refused(429, "queue_full"), BATCH)
        self.assertEqual(Producer(client).batch("q").id, "batch-1")
        self.assertEqual(len(client.sent), 3)

    def test_a_new_batch_is_asked_for_again_with_its_idempotency_key_when_it_may_be_there(self):
        for answer in (
            LOST,
            {"status": "ok"},
            refused(503, "unavailable", outcome="unknown"),
            refused(500, "internal"),
            DibsError({"status": 502, "code": "http_502"}),
        ):
            client = Answering(answer, BATCH)
            self.assertEqual(Producer(client).batch("q").id, "batch-1")
            keys = {options["headers"]["Idempotency-Key"] for _, _, _, options in client.sent}
            self.assertEqual((len(client.sent), len(keys)), (2, 1))

    def test_an_add_is_repeated_with_its_idempotency_key(self):
        client = Answering(LOST, {"id": "job-1"})
        Producer(client).batch_by_id("b").add({})
        keys = {options["headers"]["Idempotency-Key"] for _, _, _, options in client.sent}
        self.assertEqual((len(client.sent), len(keys)), (2, 1))

    def test_a_close_whose_answer_was_lost_has_closed_the_batch(self):
        client = Answering(LOST, refused(409, "batch_closed"))
        Producer(client).batch_by_id("b/c").close()
        self.assertEqual([path for _, path, _, _ in client.sent], ["/batches/b%2Fc/close"] * 2)

    def test_a_close_of_a_closed_batch_is_refused(self):
        with self.assertRaises(DibsError):
            Producer(Answering(refused(409, "batch_closed"))).batch_by_id("b").close()

    def test_a_wait_goes_on_until_the_batch_has_ended_through_failures_that_pass(self):
        client = Answering(BATCH, LOST, {**BATCH, "state": "running"}, {"id": "b", "state": "ended"})
        self.assertEqual(Producer(client).batch_by_id("b").wait(), {"id": "b", "state": "ended"})
        self.assertEqual([options["query"]["wait_seconds"] for *_, options in client.sent], [20] * 4)

    def test_a_wait_has_an_end_and_does_not_ask_without_rest(self):
        client = Answering(BATCH)
        with self.assertRaisesRegex(TimeoutError, "batch-1 has not ended within 0.2 s: it is open"):
            Producer(client).batch_by_id("batch-1").wait(0.2)
        self.assertLess(len(client.sent), 20)

    def test_a_wait_whose_time_is_over_while_dibs_is_away_says_so_and_why(self):
        with self.assertRaisesRegex(TimeoutError, "the batch b has not ended within 0.2 s: .*it broke") as error:
            Producer(Answering(LOST)).batch_by_id("b").wait(0.2)
        self.assertIs(error.exception.__cause__, LOST)

    def test_a_dibs_that_is_away_for_longer_than_a_producer_repeats_ends_a_wait_before_its_time(self):
        with mock.patch("dibs_client.batch._WAIT", 0), self.assertRaises(ConnectionFailed):
            Producer(Answering(LOST), retry_seconds=0.2).batch_by_id("b").wait(1000)

    def test_a_wait_of_no_time_looks_once(self):
        client = Answering({"id": "b", "state": "succeeded"})
        Producer(client).batch_by_id("b").wait(0)
        self.assertEqual(len(client.sent), 1)
        for timeout in (-1, "5"):
            with self.assertRaises(ValueError):
                Producer(client).batch_by_id("b").wait(timeout)  # type: ignore[arg-type]

    def test_a_wait_for_a_batch_that_is_not_there_is_refused(self):
        with self.assertRaises(DibsError):
            Producer(Answering(refused(404, "batch_not_found"))).batch_by_id("b").wait()

    def test_a_batch_can_be_pickled(self):
        batch = pickle.loads(pickle.dumps(Producer(Client()).batch_by_id("b")))
        self.assertEqual(batch.id, "b")


if __name__ == "__main__":
    unittest.main()
