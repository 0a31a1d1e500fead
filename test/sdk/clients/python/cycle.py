"""A job's whole life through the client that OpenAPI Generator writes for Python."""

import sys
from datetime import datetime, timezone

from dibs_client import (
    AckItem, AckRequest, ApiClient, ApiException, Backoff, BackoffKind, BatchesApi, BatchFollower, BatchSpec, BatchState,
    ClaimRequest, Configuration, ConsumingApi, ExtendRequest, JobsApi, JobSpec, JobSpecList, JobState, NackItem,
    NackRequest, Problem, ProducingApi, QueueConfig, QueuesApi, SettleRequest,
)

QUEUE = "sdk.python"
PAYLOAD = {"text": "Grüße", "list": [1, 2.5, None]}

client = ApiClient(Configuration(host=sys.argv[1]))
producing, consuming = ProducingApi(client), ConsumingApi(client)
jobs, queues, batches = JobsApi(client), QueuesApi(client), BatchesApi(client)


def refusal(call, *arguments) -> Problem:
    try:
        call(*arguments)
    except ApiException as error:
        assert isinstance(error.data, Problem), error
        return error.data
    raise AssertionError("no problem was answered")


backoff = Backoff(kind=BackoffKind.CONSTANT, base_seconds=0.25)
queue = queues.configure_queue(QUEUE, QueueConfig(lease_seconds=60, backoff=backoff))
assert queue.config.lease_seconds == 60 and queue.config.backoff.kind == BackoffKind.CONSTANT
assert queue.config.backoff.base_seconds == 0.25 and queue.oldest_ready_age_seconds is None

spec = JobSpec(queue=QUEUE, payload=PAYLOAD, headers={"tenant": "a"}, priority=5)
job = producing.enqueue_job(spec)
assert job.state == JobState.READY and job.priority == 5 and job.lease_expires_at is None
batch = producing.enqueue_jobs(JobSpecList(jobs=[JobSpec(queue=QUEUE, payload=i) for i in range(3)])).jobs
assert len(batch) == 3

assert queues.pause_queue(QUEUE).paused
assert not queues.resume_queue(QUEUE).paused
assert queues.get_queue(QUEUE).counts.ready == 4
assert QUEUE in [queue.name for queue in queues.list_queues().queues]

first, second, third, fourth = consuming.claim_jobs(ClaimRequest(queues=[QUEUE], limit=4, worker="python")).jobs
assert first.id == job.id and first.payload == PAYLOAD and first.headers == {"tenant": "a"}
assert [second.payload, third.payload, fourth.payload] == [0, 1, 2]
assert first.lease_expires_at > datetime.now(timezone.utc)

extend = ExtendRequest(lease_token=first.lease_token, lease_seconds=120, progress={"done": 1})
extended = consuming.extend_lease(first.id, extend)
assert extended.lease_expires_at > first.lease_expires_at and not extended.cancel_requested
looked = jobs.get_job(first.id)
assert looked.state == JobState.LEASED and looked.progress == {"done": 1} and looked.payload == PAYLOAD

acked = consuming.ack_job(first.id, AckRequest(lease_token=first.lease_token, result=[True]))
assert acked.state == JobState.COMPLETED
nack = NackRequest(lease_token=second.lease_token, error="no luck", delay_seconds=3600)
nacked = consuming.nack_job(second.id, nack)
assert nacked.state == JobState.SCHEDULED and nacked.last_error == "no luck" and nacked.attempt == 1
settled = consuming.settle_jobs(SettleRequest(
    acks=[AckItem(id=third.id, lease_token=third.lease_token), AckItem(id=fourth.id, lease_token="stale")],
    nacks=[NackItem(id=fourth.id, lease_token=fourth.lease_token, retry=False)],
))
assert [result.status for result in settled.acks] == [200, 409]
assert settled.acks[1].problem.code == "lease_lost" and settled.nacks[0].state == JobState.DEAD

page = jobs.list_jobs(queue=QUEUE, state=JobState.DEAD, include="payload")
assert [dead.payload for dead in page.jobs] == [2] and page.next_cursor is None

opened = batches.create_batch(BatchSpec(queue=QUEUE, on_success=JobSpec(queue=QUEUE, payload="all done")))
assert opened.state == BatchState.OPEN and opened.followers == [BatchFollower.ON_SUCCESS]
member = producing.enqueue_job(JobSpec(queue=QUEUE, batch=opened.id))
assert member.batch == opened.id and batches.close_batch(opened.id).state == BatchState.RUNNING
[leased] = consuming.claim_jobs(ClaimRequest(queues=[QUEUE])).jobs
assert leased.id == member.id
consuming.ack_job(leased.id, AckRequest(lease_token=leased.lease_token))
ended = batches.get_batch(opened.id)
assert ended.state == BatchState.SUCCEEDED and ended.counts.completed == 1 and ended.followers == []
ready = jobs.list_jobs(queue=QUEUE, state=JobState.READY, include="payload").jobs
assert [follower.payload for follower in ready] == ["all done"]

gone = refusal(jobs.get_job, first.id)
assert gone.status == 404 and gone.code == "job_not_found" and gone.errors is None
wrong = refusal(producing.enqueue_job, JobSpec(delay_seconds=1, run_at=datetime.now(timezone.utc)))
assert wrong.code == "invalid_request" and wrong.errors[0].path == "/run_at"

print("the cycle is done")
