"""A job's whole life through the client that openapi-python-client writes."""

import sys
from datetime import datetime, timezone

from dibs_client import Client
from dibs_client.api.batches import close_batch, create_batch, get_batch
from dibs_client.api.consuming import ack_job, claim_jobs, extend_lease, nack_job, settle_jobs
from dibs_client.api.jobs import get_job, list_jobs
from dibs_client.api.producing import enqueue_job, enqueue_jobs
from dibs_client.api.queues import configure_queue, get_queue, list_queues, pause_queue, resume_queue
from dibs_client.models import (
    AckItem, AckRequest, Backoff, BackoffKind, BatchFollower, BatchSpec, BatchState, ClaimRequest, ExtendRequest,
    JobHeaders, JobSpec, JobSpecList, JobState, ListJobsInclude, NackItem, NackRequest, Problem, QueueConfig,
    SettleRequest,
)
from dibs_client.types import UNSET

QUEUE = "sdk.openapi-python-client"
PAYLOAD = {"text": "Grüße", "list": [1, 2.5, None]}

client = Client(base_url=sys.argv[1])


def done(operation, *arguments, **options):
    """What the operation answers, when it is not refused."""
    answer = operation.sync(*arguments, client=client, **options)
    assert answer is not None and not isinstance(answer, Problem), answer
    return answer


def refusal(operation, *arguments, **options) -> Problem:
    answer = operation.sync(*arguments, client=client, **options)
    assert isinstance(answer, Problem), answer
    return answer


backoff = Backoff(kind=BackoffKind.CONSTANT, base_seconds=0.25)
queue = done(configure_queue, QUEUE, body=QueueConfig(lease_seconds=60, backoff=backoff))
assert queue.config.lease_seconds == 60 and queue.config.backoff.kind == BackoffKind.CONSTANT
assert queue.oldest_ready_age_seconds is None

headers = JobHeaders.from_dict({"tenant": "a"})
job = done(enqueue_job, body=JobSpec(queue=QUEUE, payload=PAYLOAD, headers=headers, priority=5))
assert job.state == JobState.READY and job.priority == 5 and job.lease_expires_at is None
specs = JobSpecList(jobs=[JobSpec(queue=QUEUE, payload=i) for i in range(3)])
assert len(done(enqueue_jobs, body=specs).jobs) == 3

assert done(pause_queue, QUEUE).paused
assert not done(resume_queue, QUEUE).paused
assert done(get_queue, QUEUE).counts.ready == 4
assert QUEUE in [queue.name for queue in done(list_queues).queues]

first, second, third, fourth = done(claim_jobs, body=ClaimRequest(queues=[QUEUE], limit=4, worker="python")).jobs
assert first.id == job.id and first.payload == PAYLOAD and first.headers.to_dict() == {"tenant": "a"}
assert [second.payload, third.payload, fourth.payload] == [0, 1, 2]
assert first.lease_expires_at > datetime.now(timezone.utc)

extend = ExtendRequest(lease_token=first.lease_token, lease_seconds=120, progress={"done": 1})
extended = done(extend_lease, first.id, body=extend)
assert extended.lease_expires_at > first.lease_expires_at and not extended.cancel_requested
looked = done(get_job, first.id)
assert looked.state == JobState.LEASED and looked.progress == {"done": 1} and looked.payload == PAYLOAD

acked = done(ack_job, first.id, body=AckRequest(lease_token=first.lease_token, result=[True]))
assert acked.state == JobState.COMPLETED
nack = NackRequest(lease_token=second.lease_token, error="no luck", delay_seconds=3600)
nacked = done(nack_job, second.id, body=nack)
assert nacked.state == JobState.SCHEDULED and nacked.last_error == "no luck" and nacked.attempt == 1
settled = done(settle_jobs, body=SettleRequest(
    acks=[AckItem(id=third.id, lease_token=third.lease_token), AckItem(id=fourth.id, lease_token="stale")],
    nacks=[NackItem(id=fourth.id, lease_token=fourth.lease_token, retry=False)],
))
assert [result.status for result in settled.acks] == [200, 409]
assert settled.acks[1].problem.code == "lease_lost" and settled.nacks[0].state == JobState.DEAD

page = done(list_jobs, queue=QUEUE, state=JobState.DEAD, include=ListJobsInclude.INCLUDE_PAYLOAD)
assert [dead.payload for dead in page.jobs] == [2] and page.next_cursor is None

opened = done(create_batch, body=BatchSpec(queue=QUEUE, on_success=JobSpec(queue=QUEUE, payload="all done")))
assert opened.state == BatchState.OPEN and opened.followers == [BatchFollower.ON_SUCCESS]
member = done(enqueue_job, body=JobSpec(queue=QUEUE, batch=opened.id))
assert member.batch == opened.id and done(close_batch, opened.id).state == BatchState.RUNNING
[leased] = done(claim_jobs, body=ClaimRequest(queues=[QUEUE])).jobs
assert leased.id == member.id
done(ack_job, leased.id, body=AckRequest(lease_token=leased.lease_token))
ended = done(get_batch, opened.id)
assert ended.state == BatchState.SUCCEEDED and ended.counts.completed == 1 and ended.followers == []
ready = done(list_jobs, queue=QUEUE, state=JobState.READY, include=ListJobsInclude.INCLUDE_PAYLOAD).jobs
assert [follower.payload for follower in ready] == ["all done"]

gone = refusal(get_job, first.id)
assert gone.status == 404 and gone.code == "job_not_found" and gone.errors is UNSET
wrong = refusal(enqueue_job, body=JobSpec(delay_seconds=1, run_at=datetime.now(timezone.utc)))
assert wrong.code == "invalid_request" and wrong.errors[0].path == "/run_at"

print("the cycle is done")
