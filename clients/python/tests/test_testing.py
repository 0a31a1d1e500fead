"""PYTHONPATH=clients/python/src:clients/python python -m unittest discover -s clients/python/tests"""

import asyncio
import threading
import unittest

from dibs_client import Ack, AsyncWorker, DibsError, Job, JobSignal, Nack, Producer, Release, Worker
from dibs_client.testing import FakeDibs, fake_job


class FakeJobTest(unittest.TestCase):
    def test_a_handler_is_tested_with_a_job_that_is_made_up(self):
        told = []

        def handler(job: Job) -> str:
            job.progress({"percent": 50})
            return f"{job.headers['tenant']}: sent to {job.payload['to']}, attempt {job.attempt}"

        job = fake_job({"to": "ada"}, headers={"tenant": "acme"}, attempt=2, report=told.append)
        self.assertEqual(handler(job), "acme: sent to ada, attempt 2")
        self.assertEqual(told, [{"percent": 50}])

    def test_a_handler_is_tested_with_a_signal(self):
        job = fake_job()
        job.signal = "stopping"
        job.should_end.set()
        with self.assertRaises(JobSignal):
            job.sleep(10)


class FakeDibsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dibs = FakeDibs()
        self.producer = Producer(self.dibs.client, queue="mail")

    def work(self, handler, **options) -> None:
        """Works until all jobs are done."""
        worker = Worker(self.dibs.client, ["mail"], handler, **options)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            self.dibs.wait_until_done()
        finally:
            worker.stop()
            thread.join()

    def test_producers_and_workers_are_tested_with_a_dibs_in_memory(self):
        self.producer.enqueue({"payload": {"n": 1}})
        self.producer.enqueue_all([{"payload": {"n": 2}}, {"payload": {"n": 3}}])

        def handler(job: Job):
            if job.payload["n"] == 2:
                raise Nack("never", retry=False)
            return Ack("done", [{"queue": "mail", "payload": {"n": 4}}]) if job.payload["n"] == 3 else job.payload["n"]

        self.work(handler)
        outcomes = [(job.state, job.result, job.error) for job in self.dibs.enqueued("mail")]
        self.assertEqual(
            outcomes,
            [("completed", 1, None), ("dead", None, "never"), ("completed", "done", None), ("completed", 4, None)],
        )

    def test_a_failed_job_comes_back_until_it_had_five_attempts_and_a_release_charges_none(self):
        self.producer.enqueue({"payload": "mail"})

        def handler(job: Job):
            if job.deliveries == 1:
                raise Release()
            raise ValueError(f"attempt {job.attempt}")

        self.work(handler)
        (job,) = self.dibs.jobs
        self.assertEqual((job.state, job.attempt, job.deliveries), ("dead", 5, 6))
        self.assertIn("attempt 5", job.error)

    def test_progress_is_kept(self):
        self.producer.enqueue({})
        self.work(lambda job: job.progress({"percent": 40}))
        self.assertEqual(self.dibs.jobs[0].progress, {"percent": 40})

    def test_a_lost_lease_and_an_operation_that_it_does_not_have_are_refused(self):
        self.producer.enqueue({})
        (lease,) = self.dibs.client.claim_jobs({"queues": ["mail"]})["jobs"]
        with self.assertRaises(DibsError) as refused:
            self.dibs.client.extend_lease(lease["id"], {"lease_token": "stale", "lease_seconds": 30})
        self.assertEqual(refused.exception.code, "lease_lost")
        with self.assertRaises(DibsError) as refused:
            self.dibs.client.get_queue("mail")
        self.assertEqual(refused.exception.code, "route_not_found")

    def test_a_claim_that_is_repeated_gets_the_same_jobs(self):
        for number in range(3):
            self.producer.enqueue({"payload": number})
        claim = {"queues": ["mail"], "limit": 2, "claim_id": "a"}
        first = self.dibs.client.claim_jobs(claim)
        self.assertEqual((first, len(first["jobs"])), (self.dibs.client.claim_jobs({**claim, "limit": 1}), 2))
        self.dibs.client.settle_jobs({"acks": [{"id": job["id"], "lease_token": job["lease_token"]} for job in first["jobs"]]})
        self.assertEqual([job["id"] for job in self.dibs.client.claim_jobs(claim)["jobs"]], ["job-3"])

    def test_a_worker_that_stopped_takes_no_job_any_more(self):
        self.work(lambda job: None)
        self.producer.enqueue({})
        self.assertEqual(self.dibs.jobs[0].state, "ready")

    def test_with_asyncio(self):
        async def main() -> None:
            async def handler(job: Job) -> str:
                await asyncio.sleep(0)
                return job.payload

            worker = AsyncWorker(self.dibs.client, ["mail"], handler)
            running = asyncio.ensure_future(worker.run())
            self.producer.enqueue({"payload": "ada"})
            await asyncio.to_thread(self.dibs.wait_until_done)
            worker.stop()
            await running

        asyncio.run(main())
        self.assertEqual(self.dibs.jobs[0].result, "ada")


if __name__ == "__main__":
    unittest.main()
