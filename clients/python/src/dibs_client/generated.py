# Generated from openapi/openapi.json by `npm run generate`. Do not edit.
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
from urllib.parse import quote

BackoffKind = Literal["exponential", "linear", "constant"]
BatchFollower = Literal["on_end", "on_success"]
BatchState = Literal["open", "running", "succeeded", "ended"]
DatabaseName = str
JobHeaders = dict[str, str]
JobState = Literal["scheduled", "ready", "blocked", "leased", "completed", "cancelled", "dead"]
MetricsText = str
OnDuplicate = Literal["keep", "replace"]
PayloadFormat = Literal["json", "text"]
QueueName = str
ScheduleName = str
SessionLoss = Literal["resumed", "session_ended", "stopping", "revoked"]
UniqueUntil = Literal["finished", "claimed"]


class AccessKey(TypedDict):
    """An access key, without the key itself."""

    id: str
    name: str
    scopes: list[Literal["produce", "consume", "read", "admin"]]
    queues: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    old_key_expires_at: str | None


class AckItem(TypedDict):
    """One of many acks."""

    id: str
    lease_token: str
    result: NotRequired[Any]
    enqueue: NotRequired[list[JobSpec]]


class AckRequest(TypedDict):
    """The job is done."""

    lease_token: str
    result: NotRequired[Any]
    enqueue: NotRequired[list[JobSpec]]


class Acked(TypedDict):
    """The result of an ack."""

    id: str
    state: JobState
    enqueued: list[Job]


class AuditDetails(TypedDict):
    """More of what was done. It has only what there is to say."""

    batch_id: NotRequired[str]
    group: NotRequired[str]
    operation_id: NotRequired[str]
    operation: NotRequired[str]
    to: NotRequired[str]
    dry_run: NotRequired[bool]
    home: NotRequired[bool]
    force: NotRequired[bool]
    states: NotRequired[list[str]]


class AuditEntry(TypedDict):
    """Something that was done with the scope `admin`."""

    id: str
    created_at: str
    actor: str
    actor_id: str | None
    verb: str
    queue: str | None
    job_id: str | None
    schedule: str | None
    key_id: str | None
    database: str | None
    count: int | None
    outcome: str
    address: str | None
    request_id: str | None
    details: AuditDetails


class AuditPage(TypedDict):
    """A page of the audit."""

    entries: list[AuditEntry]
    next_cursor: str | None


class Backoff(TypedDict):
    """The delay before a job is retried. What is left out takes its default: `exponential`, from 1 s to 1 h, jitter 0.2."""

    kind: NotRequired[BackoffKind]
    base_seconds: NotRequired[float]
    max_seconds: NotRequired[float]
    jitter: NotRequired[float]


class Batch(TypedDict):
    """A batch of jobs, with its progress."""

    id: str
    name: str | None
    queue: QueueName
    state: BatchState
    counts: BatchCounts
    followers: list[BatchFollower]
    created_at: str
    closed_at: str | None
    finished_at: str | None


class BatchCounts(TypedDict):
    """How many of its jobs are in each state. Those that have ended count for as long as the batch is kept, also when they are gone. One that was purged, deleted or moved to another database counts as cancelled. One in a dead letter queue counts as dead."""

    scheduled: int
    ready: int
    blocked: int
    leased: int
    completed: int
    cancelled: int
    dead: int


class BatchExplanation(TypedDict):
    """What a batch waits for."""

    id: str
    state: BatchState
    code: Literal["open", "jobs_unfinished", "follower_awaited", "jobs_dead", "finished"]
    detail: str
    job_id: NotRequired[str]


class BatchPage(TypedDict):
    """A page of batches."""

    batches: list[Batch]
    next_cursor: str | None
    away: NotRequired[list[DatabaseName]]


class BatchSpec(TypedDict):
    """A batch, with its first jobs. When it is closed and all of its jobs are finished, `on_end` is enqueued, and `on_success` when all of them are completed. Their header `dibs-batch` has the id of the batch. A follower may belong to another batch: it counts there as unfinished until it is enqueued."""

    queue: QueueName
    name: NotRequired[str]
    jobs: NotRequired[list[JobSpec]]
    on_success: NotRequired[JobSpec]
    on_end: NotRequired[JobSpec]
    closed: NotRequired[bool]


class ClaimRequest(TypedDict):
    """Which jobs to lease, how many, and for how long."""

    queues: NotRequired[list[QueueName]]
    limit: NotRequired[int]
    lease_seconds: NotRequired[float]
    wait_seconds: NotRequired[float]
    worker: NotRequired[str]
    claim_id: NotRequired[str]
    session: NotRequired[str]
    payload_format: NotRequired[PayloadFormat]


class Count(TypedDict):
    """How many jobs were changed."""

    count: int


class Database(TypedDict):
    """A database, with the queues that this caller may see. `counts` has their jobs, as the metrics count them; it is left out while the database is away, and until all were counted once."""

    name: DatabaseName
    state: Literal["open", "closed", "away"]
    queues: NotRequired[int]
    counts: NotRequired[QueueCounts]


class DatabaseConfig(TypedDict):
    """How a database is used."""

    accepts_queues: bool


class Databases(TypedDict):
    """All databases of this Dibs."""

    databases: list[Database]


class Explanation(TypedDict):
    """The one reason why a job is not running."""

    id: str
    state: JobState
    code: Literal["next_in_line", "delayed", "backing_off", "behind_in_group", "group_paused", "queue_paused", "max_leased_reached", "rate_limited", "leased", "dead", "completed", "cancelled"]
    detail: str
    ahead: NotRequired[int]
    until: NotRequired[str]
    blocking_job_id: NotRequired[str]
    worker: NotRequired[str]
    last_error: NotRequired[str]


class ExtendItem(TypedDict):
    """One of many extends."""

    id: str
    lease_token: str
    lease_seconds: float
    progress: NotRequired[Any]


class ExtendRequest(TypedDict):
    """The work takes longer."""

    lease_token: str
    lease_seconds: float
    progress: NotRequired[Any]


class Extended(TypedDict):
    """The result of an extend."""

    id: str
    state: JobState
    lease_expires_at: str
    cancel_requested: bool


FieldProblem = TypedDict(
    "FieldProblem",
    {"in": Literal["body", "query", "path", "header"], "path": str, "message": str},
)


class GroupStatus(TypedDict):
    """A group of a queue."""

    queue: QueueName
    group: str
    paused: bool


class Health(TypedDict):
    """Alive or ready."""

    status: Literal["ok"]
    not_ready: NotRequired[list[NotReady]]


class HistoryEvent(TypedDict):
    """Something that happened to a job."""

    at: str | None
    event: Literal["enqueued", "leased", "acked", "nacked", "released", "rescued", "expired", "dead", "cancel_requested", "cancelled", "retried", "redriven", "changed", "moved"]
    batch: NotRequired[str]
    follows: NotRequired[str]
    attempt: NotRequired[int]
    deliveries: NotRequired[int]
    worker: NotRequired[str]
    leased_at: NotRequired[str]
    by: NotRequired[str]
    error: NotRequired[str]
    run_at: NotRequired[str]


class Job(TypedDict):
    """A job and its state."""

    id: str
    queue: QueueName
    state: JobState
    headers: JobHeaders
    priority: int
    attempt: int
    max_attempts: int
    deliveries: int
    group: str | None
    fairness_key: str | None
    unique_key: str | None
    batch: str | None
    run_at: str
    created_at: str
    lease_expires_at: str | None
    worker: str | None
    last_error: str | None
    progress: Any
    result: Any
    finished_at: str | None
    payload: NotRequired[Any]
    payload_text: NotRequired[str]
    payload_preview: NotRequired[str]
    enqueued: NotRequired[list[Job]]
    moved_to: NotRequired[str]
    deduplicated: NotRequired[bool]
    replaced: NotRequired[bool]


class JobChange(TypedDict):
    """What to change of a job. What is left out stays as it is."""

    payload: NotRequired[Any]
    headers: NotRequired[JobHeaders]
    priority: NotRequired[int]
    run_at: NotRequired[str]
    max_attempts: NotRequired[int]
    expires_in_seconds: NotRequired[float]


class JobFilter(TypedDict):
    """Which jobs of a queue: those that match all of it."""

    states: list[JobState]
    group: NotRequired[str]
    fairness_key: NotRequired[str]
    worker: NotRequired[str]
    error_contains: NotRequired[str]
    created_after: NotRequired[str]
    created_before: NotRequired[str]


class JobHistory(TypedDict):
    """What happened to a job."""

    id: str
    queue: QueueName
    events: list[HistoryEvent]
    truncated: bool


class JobList(TypedDict):
    """Jobs, in the order of the request."""

    jobs: list[Job]


class JobPage(TypedDict):
    """A page of jobs."""

    jobs: list[Job]
    next_cursor: str | None
    looked_at: NotRequired[int]
    looked_to: NotRequired[str | None]
    away: NotRequired[list[DatabaseName]]


class JobRates(TypedDict):
    """What happens to jobs in a second, on average over the last minute, over all replicas."""

    enqueued: float
    deduplicated: float
    claimed: float
    acked: float
    nacked: float
    released: float
    rescued: float
    expired: float
    dead: float


class JobSpec(TypedDict):
    """A job to enqueue. `queue` is `default` when left out."""

    queue: NotRequired[QueueName]
    payload: NotRequired[Any]
    headers: NotRequired[JobHeaders]
    priority: NotRequired[int]
    delay_seconds: NotRequired[float]
    run_at: NotRequired[str]
    max_attempts: NotRequired[int]
    backoff: NotRequired[Backoff]
    fairness_key: NotRequired[str]
    unique_key: NotRequired[str]
    unique_for_seconds: NotRequired[float]
    on_duplicate: NotRequired[OnDuplicate]
    unique_until: NotRequired[UniqueUntil]
    group: NotRequired[str]
    batch: NotRequired[str]
    expires_in_seconds: NotRequired[float]


class JobSpecList(TypedDict):
    """1 to 1000 jobs, enqueued all or none."""

    jobs: list[JobSpec]


class KeyPage(TypedDict):
    """A page of access keys."""

    keys: list[AccessKey]
    next_cursor: str | None


class KeyRotation(TypedDict):
    """How to rotate an access key."""

    overlap_seconds: NotRequired[float]


class LeasedJob(TypedDict):
    """A job with its lease."""

    id: str
    queue: QueueName
    state: JobState
    headers: JobHeaders
    priority: int
    attempt: int
    max_attempts: int
    deliveries: int
    group: str | None
    fairness_key: str | None
    unique_key: str | None
    batch: str | None
    run_at: str
    created_at: str
    lease_expires_at: str
    worker: str | None
    last_error: str | None
    progress: Any
    result: Any
    finished_at: str | None
    payload: NotRequired[Any]
    payload_text: NotRequired[str]
    lease_token: str
    lease_seconds: float


class LeasedJobList(TypedDict):
    """Jobs, in the order of the queue."""

    jobs: list[LeasedJob]


class MadeKey(TypedDict):
    """An access key that was just made, with the key itself."""

    id: str
    name: str
    scopes: list[Literal["produce", "consume", "read", "admin"]]
    queues: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None
    old_key_expires_at: str | None
    key: str


class NackItem(TypedDict):
    """One of many nacks."""

    id: str
    lease_token: str
    error: NotRequired[str]
    delay_seconds: NotRequired[float]
    retry: NotRequired[bool]
    enqueue: NotRequired[list[JobSpec]]


class NackRequest(TypedDict):
    """The job failed."""

    lease_token: str
    error: NotRequired[str]
    delay_seconds: NotRequired[float]
    retry: NotRequired[bool]
    enqueue: NotRequired[list[JobSpec]]


class NewKey(TypedDict):
    """An access key to create."""

    name: str
    scopes: list[Literal["produce", "consume", "read", "admin"]]
    queues: NotRequired[list[str]]
    expires_at: NotRequired[str]
    expires_in_seconds: NotRequired[float]


class NotReady(TypedDict):
    """A database that takes no writes now."""

    name: DatabaseName
    reason: str


class Operation(TypedDict):
    """An operation on many jobs, with its progress."""

    id: str
    verb: Literal["cancel", "retry", "delete", "move", "relocate"]
    queue: QueueName
    to: str | None
    filter: JobFilter
    dry_run: bool
    state: Literal["running", "done", "cancelled", "failed"]
    counted: bool
    matched: int
    done: int
    skipped: int
    error: str | None
    hold_seconds: float | None
    created_at: str
    finished_at: str | None


class OperationPage(TypedDict):
    """A page of operations."""

    operations: list[Operation]
    next_cursor: str | None
    away: NotRequired[list[DatabaseName]]


class OperationRequest(TypedDict):
    """What to do to which jobs."""

    verb: Literal["cancel", "retry", "delete", "move"]
    queue: QueueName
    to: NotRequired[QueueName]
    filter: JobFilter
    dry_run: NotRequired[bool]


class Overview(TypedDict):
    """All queues at a glance."""

    version: str
    trace_url: str | None
    caller: OverviewCaller
    complete: bool
    total: int
    troubled: int
    counts: QueueCounts
    per_second: JobRates
    oldest_ready_age_seconds: float | None
    drain_seconds: float | None
    queues: list[QueueOverview]
    away: NotRequired[list[DatabaseName]]


class OverviewCaller(TypedDict):
    """Who asks, and what it may do."""

    name: str
    needs_key: bool
    scopes: list[str]
    queues: list[str]


class Problem(TypedDict):
    """Why a request was not carried out: problem details for HTTP APIs (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: NotRequired[list[FieldProblem]]
    outcome: NotRequired[Literal["not_done", "unknown"]]


class PurgeRequest(TypedDict):
    """Which jobs to delete."""

    states: list[Literal["scheduled", "ready", "blocked", "completed", "cancelled", "dead"]]


class Queue(TypedDict):
    """A queue, its configuration and how many jobs it has. `database` tells where it is; it is left out where there is one."""

    name: QueueName
    paused: bool
    config: QueueConfig
    counts: QueueCounts
    oldest_ready_age_seconds: float | None
    created_at: str
    database: NotRequired[DatabaseName]
    paused_groups: NotRequired[list[str]]


class QueueConfig(TypedDict):
    """What is left out takes its default; a limit that is left out is none."""

    lease_seconds: NotRequired[float]
    max_attempts: NotRequired[int]
    backoff: NotRequired[Backoff]
    retention_seconds: NotRequired[float]
    dead_retention_seconds: NotRequired[float]
    alert_after_seconds: NotRequired[float]
    max_leased: NotRequired[int]
    rate_limit: NotRequired[RateLimit]
    max_ready: NotRequired[int]
    dead_letter_queue: NotRequired[QueueName]
    group_concurrency: NotRequired[int]
    group_batches: NotRequired[int]
    database: NotRequired[DatabaseName]


class QueueCounts(TypedDict):
    """Jobs by state, as they are now: of a queue of up to 100,000 jobs that is asked for alone, and of the smallest queues of a page, up to 10,000 jobs together. The counts of larger ones are up to 20 times as old as counting them takes. On the first request, they may be those of the metrics, up to a minute old."""

    scheduled: int
    ready: int
    blocked: int
    leased: int
    completed: int
    cancelled: int
    dead: int


class QueueError(TypedDict):
    """Why some jobs are dead."""

    error: str | None
    count: int
    error_contains: str | None
    newest_job_id: str
    first_at: str
    last_at: str


class QueueErrors(TypedDict):
    """Why jobs of a queue are dead."""

    queue: QueueName
    looked_at: int
    complete: bool
    errors: list[QueueError]


class QueueExplanation(TypedDict):
    """What a claim from a queue would get now, and if nothing, why."""

    queue: QueueName
    code: Literal["ready", "empty", "paused", "max_leased_reached", "rate_limited", "all_leased", "all_delayed", "all_blocked"]
    detail: str
    until: NotRequired[str]
    job_id: NotRequired[str]


class QueueOverview(TypedDict):
    """A queue at a glance. `counts` is left out until it was counted; `per_second` is left out for queues without metrics of their own. `database` tells where it is; it is left out where there is one."""

    name: QueueName
    database: NotRequired[DatabaseName]
    paused: bool
    troubles: list[Literal["dead_growing", "failing", "nobody_claims", "oldest_too_old", "full", "max_leased_reached", "paused"]]
    counts: NotRequired[QueueCounts]
    counted_age_seconds: float | None
    oldest_ready_age_seconds: float | None
    per_second: NotRequired[JobRates]
    drain_seconds: float | None


class QueuePage(TypedDict):
    """A page of queues."""

    queues: list[Queue]
    next_cursor: str | None
    away: NotRequired[list[DatabaseName]]


class QueueSamples(TypedDict):
    """A queue over the last minutes: a number for each time of `at`."""

    name: QueueName
    ready: list[float | None]
    waiting: list[float | None]
    leased: list[float | None]
    dead: list[float | None]
    oldest_ready_age_seconds: list[float | None]
    enqueued: list[float | None]
    acked: list[float | None]
    failed: list[float | None]
    became_dead: list[float | None]


class RateLimit(TypedDict):
    """In no window of that length are more jobs claimed, over all replicas. A job that comes back counts again."""

    jobs: int
    per_seconds: float


class RedriveRequest(TypedDict):
    """Which dead jobs to make ready again."""

    limit: NotRequired[int]
    error_contains: NotRequired[str]
    home: NotRequired[bool]


class ReleaseItem(TypedDict):
    """One of many releases."""

    id: str
    lease_token: str
    delay_seconds: NotRequired[float]


class ReleaseRequest(TypedDict):
    """The job is given back unworked."""

    lease_token: str
    delay_seconds: NotRequired[float]


class RelocateRequest(TypedDict):
    """The database that a queue goes to."""

    to: DatabaseName
    dry_run: NotRequired[bool]


class SampleSeries(TypedDict):
    """A number for each time of `at`; null where it is not known."""

    ready: list[float | None]
    waiting: list[float | None]
    leased: list[float | None]
    dead: list[float | None]
    oldest_ready_age_seconds: list[float | None]
    enqueued: list[float | None]
    acked: list[float | None]
    failed: list[float | None]
    became_dead: list[float | None]


class Samples(TypedDict):
    """The last minutes of the busiest queues. `all` has all queues together that the caller may see; it is left out with `queue`."""

    at: list[str]
    all: NotRequired[SampleSeries]
    queues: list[QueueSamples]
    away: NotRequired[list[DatabaseName]]


class Schedule(TypedDict):
    """A schedule: at each tick of its cron, one job goes into its queue."""

    name: ScheduleName
    cron: str
    timezone: str
    paused: bool
    job: JobSpec
    next_run_at: str | None
    last_run_at: str | None
    last_error: str | None
    retry_at: str | None


class SchedulePage(TypedDict):
    """A page of schedules."""

    schedules: list[Schedule]
    next_cursor: str | None


class ScheduleSpec(TypedDict):
    """A schedule to create or replace. Its job is what `POST /jobs` takes, without `run_at`; `delay_seconds` counts from the tick on. The times, `name` and `last_error` are ignored: so a schedule that was read can be put back."""

    cron: str
    timezone: NotRequired[str]
    paused: NotRequired[bool]
    job: JobSpec
    name: NotRequired[ScheduleName]
    next_run_at: NotRequired[str | None]
    last_run_at: NotRequired[str | None]
    last_error: NotRequired[str | None]
    retry_at: NotRequired[str | None]


class SessionLine(TypedDict):
    """A line of the answer. The first one has the id. Then there is an empty object every 3 s. The last one has `lost`."""

    session: NotRequired[str]
    resume_seconds: NotRequired[float]
    lost: NotRequired[SessionLoss]


class SessionRequest(TypedDict):
    """A session to open, or to resume."""

    session: NotRequired[str]
    resume_seconds: NotRequired[float]


class SettleRequest(TypedDict):
    """Up to 1000 items in all, each the body of the single call plus `id`. With `claim`, the answer also has the next jobs."""

    acks: NotRequired[list[AckItem]]
    nacks: NotRequired[list[NackItem]]
    releases: NotRequired[list[ReleaseItem]]
    extends: NotRequired[list[ExtendItem]]
    claim: NotRequired[ClaimRequest]


class SettleResult(TypedDict):
    """The result of one item. The `code` of its `problem` is one with which the single call is refused."""

    id: str
    status: int
    state: NotRequired[JobState]
    run_at: NotRequired[str]
    lease_expires_at: NotRequired[str]
    cancel_requested: NotRequired[bool]
    enqueued: NotRequired[list[Job]]
    problem: NotRequired[Problem]


class SettleResults(TypedDict):
    """One result per item, in the order of the request. `problem` says why the claim was refused, after the items were settled."""

    acks: list[SettleResult]
    nacks: list[SettleResult]
    releases: list[SettleResult]
    extends: list[SettleResult]
    jobs: NotRequired[list[LeasedJob]]
    problem: NotRequired[Problem]


class Version(TypedDict):
    """Which Dibs answers."""

    version: str
    node: str


class WorkerNow(TypedDict):
    """A worker with jobs."""

    worker: str | None
    leased: int
    queues: list[QueueName]
    since: str | None
    next_lease_expires_at: str


class Workers(TypedDict):
    """Who works now."""

    workers: list[WorkerNow]
    total: int
    complete: bool
    away: NotRequired[list[DatabaseName]]


class Operations:
    """Every operation of Dibs. `request` sends it."""

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        raise NotImplementedError

    def get_health(
        self,
        *,
        timeout: float | None = None,
    ) -> "Health":
        """Is the process alive?."""
        return self.request(
            "GET",
            "/healthz",
            timeout=timeout,
        )

    def get_readiness(
        self,
        *,
        timeout: float | None = None,
    ) -> "Health":
        """Does the database answer, and is it migrated?."""
        return self.request(
            "GET",
            "/readyz",
            timeout=timeout,
        )

    def get_version(
        self,
        *,
        timeout: float | None = None,
    ) -> "Version":
        """The versions of this Dibs."""
        return self.request(
            "GET",
            "/version",
            timeout=timeout,
        )

    def get_metrics(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        """Metrics for Prometheus."""
        return self.request(
            "GET",
            "/metrics",
            timeout=timeout,
        )

    def enqueue_job(
        self,
        body: "JobSpec",
        *,
        idempotency_key: "str | None" = None,
        prefer: "str | None" = None,
        timeout: float | None = None,
    ) -> "Job":
        """Enqueue a job."""
        return self.request(
            "POST",
            "/jobs",
            body,
            headers={"Idempotency-Key": idempotency_key, "Prefer": prefer},
            timeout=timeout,
        )

    def list_jobs(
        self,
        *,
        queue: "'QueueName' | None" = None,
        state: "'JobState' | None" = None,
        group: "str | None" = None,
        fairness_key: "str | None" = None,
        worker: "str | None" = None,
        error_contains: "str | None" = None,
        created_after: "str | None" = None,
        created_before: "str | None" = None,
        unique_key: "str | None" = None,
        batch: "str | None" = None,
        payload_contains: "str | None" = None,
        include: "Literal['payload', 'payload_preview'] | None" = None,
        order: "Literal['newest', 'oldest'] | None" = None,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        payload_format: "'PayloadFormat' | None" = None,
        timeout: float | None = None,
    ) -> "JobPage":
        """List jobs, newest first."""
        return self.request(
            "GET",
            "/jobs",
            query={"queue": queue, "state": state, "group": group, "fairness_key": fairness_key, "worker": worker, "error_contains": error_contains, "created_after": created_after, "created_before": created_before, "unique_key": unique_key, "batch": batch, "payload_contains": payload_contains, "include": include, "order": order, "limit": limit, "cursor": cursor, "payload_format": payload_format},
            timeout=timeout,
        )

    def enqueue_jobs(
        self,
        body: "JobSpecList",
        *,
        idempotency_key: "str | None" = None,
        timeout: float | None = None,
    ) -> "JobList":
        """Enqueue up to 1000 jobs, all or none."""
        return self.request(
            "POST",
            "/jobs/batch",
            body,
            headers={"Idempotency-Key": idempotency_key},
            timeout=timeout,
        )

    def get_job(
        self,
        id: str,
        *,
        wait_seconds: "float | None" = None,
        payload_format: "'PayloadFormat' | None" = None,
        timeout: float | None = None,
    ) -> "Job":
        """Get a job, or wait until it is finished."""
        return self.request(
            "GET",
            f'/jobs/{quote(id, safe="")}',
            query={"wait_seconds": wait_seconds, "payload_format": payload_format},
            timeout=timeout,
        )

    def cancel_job(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Job":
        """Cancel a job."""
        return self.request(
            "DELETE",
            f'/jobs/{quote(id, safe="")}',
            timeout=timeout,
        )

    def change_job(
        self,
        id: str,
        body: "JobChange",
        *,
        timeout: float | None = None,
    ) -> "Job":
        """Change a job that waits or is dead."""
        return self.request(
            "PATCH",
            f'/jobs/{quote(id, safe="")}',
            body,
            timeout=timeout,
        )

    def retry_job(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Job":
        """Make a dead or scheduled job ready."""
        return self.request(
            "POST",
            f'/jobs/{quote(id, safe="")}/retry',
            timeout=timeout,
        )

    def get_job_history(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "JobHistory":
        """What happened to my job?."""
        return self.request(
            "GET",
            f'/jobs/{quote(id, safe="")}/history',
            timeout=timeout,
        )

    def explain_job(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Explanation":
        """Why is my job not running?."""
        return self.request(
            "GET",
            f'/jobs/{quote(id, safe="")}/explain',
            timeout=timeout,
        )

    def explain_queue(
        self,
        queue: "QueueName",
        *,
        timeout: float | None = None,
    ) -> "QueueExplanation":
        """Why does my claim get nothing?."""
        return self.request(
            "GET",
            f'/queues/{quote(queue, safe="")}/explain',
            timeout=timeout,
        )

    def get_queue_errors(
        self,
        queue: "QueueName",
        *,
        timeout: float | None = None,
    ) -> "QueueErrors":
        """Why are jobs dead?."""
        return self.request(
            "GET",
            f'/queues/{quote(queue, safe="")}/errors',
            timeout=timeout,
        )

    def list_workers(
        self,
        *,
        queue: "'QueueName' | None" = None,
        timeout: float | None = None,
    ) -> "Workers":
        """Who works now?."""
        return self.request(
            "GET",
            "/workers",
            query={"queue": queue},
            timeout=timeout,
        )

    def claim_jobs(
        self,
        body: "ClaimRequest | None" = None,
        *,
        timeout: float | None = None,
    ) -> "LeasedJobList":
        """Lease ready jobs."""
        return self.request(
            "POST",
            "/jobs/claim",
            body or {},
            timeout=timeout,
        )

    def ack_job(
        self,
        id: str,
        body: "AckRequest",
        *,
        timeout: float | None = None,
    ) -> "Acked":
        """Complete a job: its work is done."""
        return self.request(
            "POST",
            f'/jobs/{quote(id, safe="")}/ack',
            body,
            timeout=timeout,
        )

    def nack_job(
        self,
        id: str,
        body: "NackRequest",
        *,
        timeout: float | None = None,
    ) -> "Job":
        """Fail an attempt: the job is retried after its backoff, or is dead."""
        return self.request(
            "POST",
            f'/jobs/{quote(id, safe="")}/nack',
            body,
            timeout=timeout,
        )

    def release_job(
        self,
        id: str,
        body: "ReleaseRequest",
        *,
        timeout: float | None = None,
    ) -> "Job":
        """Release a job: no attempt is charged."""
        return self.request(
            "POST",
            f'/jobs/{quote(id, safe="")}/release',
            body,
            timeout=timeout,
        )

    def extend_lease(
        self,
        id: str,
        body: "ExtendRequest",
        *,
        timeout: float | None = None,
    ) -> "Extended":
        """Extend a lease."""
        return self.request(
            "POST",
            f'/jobs/{quote(id, safe="")}/extend',
            body,
            timeout=timeout,
        )

    def settle_jobs(
        self,
        body: "SettleRequest",
        *,
        timeout: float | None = None,
    ) -> "SettleResults":
        """Ack, nack, release and extend many jobs at once."""
        return self.request(
            "POST",
            "/jobs/settle",
            body,
            timeout=timeout,
        )

    def list_queues(
        self,
        *,
        name_contains: "str | None" = None,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        timeout: float | None = None,
    ) -> "QueuePage":
        """List queues by name."""
        return self.request(
            "GET",
            "/queues",
            query={"name_contains": name_contains, "limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def get_queue(
        self,
        queue: "QueueName",
        *,
        timeout: float | None = None,
    ) -> "Queue":
        """Get a queue."""
        return self.request(
            "GET",
            f'/queues/{quote(queue, safe="")}',
            timeout=timeout,
        )

    def configure_queue(
        self,
        queue: "QueueName",
        body: "QueueConfig",
        *,
        timeout: float | None = None,
    ) -> "Queue":
        """Configure a queue."""
        return self.request(
            "PUT",
            f'/queues/{quote(queue, safe="")}',
            body,
            timeout=timeout,
        )

    def delete_queue(
        self,
        queue: "QueueName",
        *,
        force: "bool | None" = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a queue."""
        return self.request(
            "DELETE",
            f'/queues/{quote(queue, safe="")}',
            query={"force": force},
            timeout=timeout,
        )

    def pause_queue(
        self,
        queue: "QueueName",
        *,
        timeout: float | None = None,
    ) -> "Queue":
        """Pause a queue."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/pause',
            timeout=timeout,
        )

    def resume_queue(
        self,
        queue: "QueueName",
        *,
        timeout: float | None = None,
    ) -> "Queue":
        """Resume a queue."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/resume',
            timeout=timeout,
        )

    def pause_group(
        self,
        queue: "QueueName",
        group: str,
        *,
        timeout: float | None = None,
    ) -> "GroupStatus":
        """Pause a group."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/groups/{quote(group, safe="")}/pause',
            timeout=timeout,
        )

    def resume_group(
        self,
        queue: "QueueName",
        group: str,
        *,
        timeout: float | None = None,
    ) -> "GroupStatus":
        """Resume a group."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/groups/{quote(group, safe="")}/resume',
            timeout=timeout,
        )

    def purge_queue(
        self,
        queue: "QueueName",
        body: "PurgeRequest",
        *,
        timeout: float | None = None,
    ) -> "Count":
        """Delete the jobs in some states."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/purge',
            body,
            timeout=timeout,
        )

    def redrive_queue(
        self,
        queue: "QueueName",
        body: "RedriveRequest | None" = None,
        *,
        timeout: float | None = None,
    ) -> "Count":
        """Make dead jobs ready again."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/redrive',
            body or {},
            timeout=timeout,
        )

    def list_databases(
        self,
        *,
        timeout: float | None = None,
    ) -> "Databases":
        """List the databases."""
        return self.request(
            "GET",
            "/databases",
            timeout=timeout,
        )

    def configure_database(
        self,
        name: "DatabaseName",
        body: "DatabaseConfig",
        *,
        timeout: float | None = None,
    ) -> "Database":
        """Open or close a database for new queues."""
        return self.request(
            "PUT",
            f'/databases/{quote(name, safe="")}',
            body,
            timeout=timeout,
        )

    def create_batch(
        self,
        body: "BatchSpec",
        *,
        idempotency_key: "str | None" = None,
        timeout: float | None = None,
    ) -> "Batch":
        """Create a batch: jobs that belong together, and what follows their end."""
        return self.request(
            "POST",
            "/batches",
            body,
            headers={"Idempotency-Key": idempotency_key},
            timeout=timeout,
        )

    def list_batches(
        self,
        *,
        queue: "'QueueName' | None" = None,
        state: "'BatchState' | None" = None,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        timeout: float | None = None,
    ) -> "BatchPage":
        """List batches, newest first."""
        return self.request(
            "GET",
            "/batches",
            query={"queue": queue, "state": state, "limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def get_batch(
        self,
        id: str,
        *,
        wait_seconds: "float | None" = None,
        timeout: float | None = None,
    ) -> "Batch":
        """Get a batch, or wait until it has ended."""
        return self.request(
            "GET",
            f'/batches/{quote(id, safe="")}',
            query={"wait_seconds": wait_seconds},
            timeout=timeout,
        )

    def cancel_batch(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Batch":
        """Cancel a batch."""
        return self.request(
            "DELETE",
            f'/batches/{quote(id, safe="")}',
            timeout=timeout,
        )

    def explain_batch(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "BatchExplanation":
        """What does my batch wait for?."""
        return self.request(
            "GET",
            f'/batches/{quote(id, safe="")}/explain',
            timeout=timeout,
        )

    def close_batch(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Batch":
        """Close a batch."""
        return self.request(
            "POST",
            f'/batches/{quote(id, safe="")}/close',
            timeout=timeout,
        )

    def hold_session(
        self,
        body: "SessionRequest | None" = None,
        *,
        timeout: float | None = None,
    ) -> "SessionLine":
        """Hold a session: leases that end when this connection is lost."""
        return self.request(
            "POST",
            "/sessions",
            body or {},
            timeout=timeout,
        )

    def start_operation(
        self,
        body: "OperationRequest",
        *,
        timeout: float | None = None,
    ) -> "Operation":
        """Cancel, retry, delete or move any number of jobs."""
        return self.request(
            "POST",
            "/operations",
            body,
            timeout=timeout,
        )

    def list_operations(
        self,
        *,
        queue: "'QueueName' | None" = None,
        state: "Literal['running', 'done', 'cancelled', 'failed'] | None" = None,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        timeout: float | None = None,
    ) -> "OperationPage":
        """List operations, newest first."""
        return self.request(
            "GET",
            "/operations",
            query={"queue": queue, "state": state, "limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def relocate_queue(
        self,
        queue: "QueueName",
        body: "RelocateRequest",
        *,
        timeout: float | None = None,
    ) -> "Operation":
        """Move a queue to another database."""
        return self.request(
            "POST",
            f'/queues/{quote(queue, safe="")}/relocate',
            body,
            timeout=timeout,
        )

    def get_operation(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Operation":
        """Get an operation."""
        return self.request(
            "GET",
            f'/operations/{quote(id, safe="")}',
            timeout=timeout,
        )

    def stop_operation(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> "Operation":
        """Stop an operation."""
        return self.request(
            "DELETE",
            f'/operations/{quote(id, safe="")}',
            timeout=timeout,
        )

    def get_overview(
        self,
        *,
        queue: "'QueueName' | None" = None,
        limit: "int | None" = None,
        timeout: float | None = None,
    ) -> "Overview":
        """All queues at a glance, those with trouble first."""
        return self.request(
            "GET",
            "/overview",
            query={"queue": queue, "limit": limit},
            timeout=timeout,
        )

    def get_samples(
        self,
        *,
        queue: "'QueueName' | None" = None,
        minutes: "int | None" = None,
        timeout: float | None = None,
    ) -> "Samples":
        """The last minutes of the busiest queues."""
        return self.request(
            "GET",
            "/overview/samples",
            query={"queue": queue, "minutes": minutes},
            timeout=timeout,
        )

    def list_schedules(
        self,
        *,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        timeout: float | None = None,
    ) -> "SchedulePage":
        """List schedules by name."""
        return self.request(
            "GET",
            "/schedules",
            query={"limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def get_schedule(
        self,
        name: "ScheduleName",
        *,
        timeout: float | None = None,
    ) -> "Schedule":
        """Get a schedule."""
        return self.request(
            "GET",
            f'/schedules/{quote(name, safe="")}',
            timeout=timeout,
        )

    def put_schedule(
        self,
        name: "ScheduleName",
        body: "ScheduleSpec",
        *,
        timeout: float | None = None,
    ) -> "Schedule":
        """Create a schedule, or replace it whole."""
        return self.request(
            "PUT",
            f'/schedules/{quote(name, safe="")}',
            body,
            timeout=timeout,
        )

    def delete_schedule(
        self,
        name: "ScheduleName",
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete a schedule."""
        return self.request(
            "DELETE",
            f'/schedules/{quote(name, safe="")}',
            timeout=timeout,
        )

    def trigger_schedule(
        self,
        name: "ScheduleName",
        *,
        timeout: float | None = None,
    ) -> "Job":
        """Enqueue the job of a schedule now."""
        return self.request(
            "POST",
            f'/schedules/{quote(name, safe="")}/trigger',
            timeout=timeout,
        )

    def list_keys(
        self,
        *,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        timeout: float | None = None,
    ) -> "KeyPage":
        """List access keys, oldest first."""
        return self.request(
            "GET",
            "/keys",
            query={"limit": limit, "cursor": cursor},
            timeout=timeout,
        )

    def create_key(
        self,
        body: "NewKey",
        *,
        timeout: float | None = None,
    ) -> "MadeKey":
        """Create an access key."""
        return self.request(
            "POST",
            "/keys",
            body,
            timeout=timeout,
        )

    def revoke_key(
        self,
        id: str,
        *,
        timeout: float | None = None,
    ) -> None:
        """Revoke an access key."""
        return self.request(
            "DELETE",
            f'/keys/{quote(id, safe="")}',
            timeout=timeout,
        )

    def rotate_key(
        self,
        id: str,
        body: "KeyRotation",
        *,
        timeout: float | None = None,
    ) -> "MadeKey":
        """Give an access key a new secret."""
        return self.request(
            "POST",
            f'/keys/{quote(id, safe="")}/rotate',
            body,
            timeout=timeout,
        )

    def list_audit(
        self,
        *,
        actor: "str | None" = None,
        verb: "str | None" = None,
        queue: "'QueueName' | None" = None,
        created_after: "str | None" = None,
        created_before: "str | None" = None,
        limit: "int | None" = None,
        cursor: "str | None" = None,
        timeout: float | None = None,
    ) -> "AuditPage":
        """Who did what with the scope admin, newest first."""
        return self.request(
            "GET",
            "/audit",
            query={"actor": actor, "verb": verb, "queue": queue, "created_after": created_after, "created_before": created_before, "limit": limit, "cursor": cursor},
            timeout=timeout,
        )
