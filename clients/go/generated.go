// Code generated from openapi/openapi.json by `npm run generate`. DO NOT EDIT.

package dibs

import (
	"context"
	"encoding/json"
	"net/url"
)

// AccessKey: An access key, without the key itself.
type AccessKey struct {
	// Opaque. The key contains it, too.
	ID string `json:"id"`
	// Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name.
	Name string `json:"name"`
	// `produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything.
	Scopes []string `json:"scopes"`
	// Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all.
	Queues []string `json:"queues"`
	// When it was created.
	CreatedAt string `json:"created_at"`
	// When it ends; null: never.
	ExpiresAt *string `json:"expires_at"`
	// When it was revoked; null: it is not. It is shown for 7 days more.
	RevokedAt *string `json:"revoked_at"`
	// The minute of its last use; null: it was not used yet.
	LastUsedAt *string `json:"last_used_at"`
	// Until when the key from before the last rotation stays valid.
	OldKeyExpiresAt *string `json:"old_key_expires_at"`
}

// AckItem: One of many acks.
type AckItem struct {
	// The id of the job.
	ID string `json:"id"`
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// The result of the job, up to 64 KiB. It is kept while the queue's `retention_seconds` last.
	Result json.RawMessage `json:"result,omitempty"`
	// Jobs that follow, inserted if and only if the ack counts.
	Enqueue []JobSpec `json:"enqueue,omitempty"`
}

// AckRequest: The job is done.
type AckRequest struct {
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// The result of the job, up to 64 KiB. It is kept while the queue's `retention_seconds` last.
	Result json.RawMessage `json:"result,omitempty"`
	// Jobs that follow, inserted if and only if the ack counts.
	Enqueue []JobSpec `json:"enqueue,omitempty"`
}

// Acked: The result of an ack.
type Acked struct {
	// The id of the job.
	ID string `json:"id"`
	State JobState `json:"state"`
	// The jobs inserted with the ack.
	Enqueued []Job `json:"enqueued"`
}

// AuditDetails: More of what was done. It has only what there is to say.
type AuditDetails struct {
	// To which batch.
	BatchID *string `json:"batch_id,omitempty"`
	// To which group.
	Group *string `json:"group,omitempty"`
	// Which operation was started or stopped.
	OperationID *string `json:"operation_id,omitempty"`
	// The verb of that operation, such as `delete`.
	Operation *string `json:"operation,omitempty"`
	// To which queue the operation moves jobs.
	To *string `json:"to,omitempty"`
	// The operation or relocation only counted.
	DryRun *bool `json:"dry_run,omitempty"`
	// A redrive sent dead letters back to the queues they came from.
	Home *bool `json:"home,omitempty"`
	// A queue was deleted with its jobs.
	Force *bool `json:"force,omitempty"`
	// Jobs of which states were purged.
	States []string `json:"states,omitempty"`
}

// AuditEntry: Something that was done with the scope `admin`.
type AuditEntry struct {
	// Newer entries have larger numbers.
	ID string `json:"id"`
	// When it was done.
	CreatedAt string `json:"created_at"`
	// The name of the access key or token. `anybody`, where nobody needs one.
	Actor string `json:"actor"`
	// Its id. Null where nobody needs one.
	ActorID *string `json:"actor_id"`
	// What was done.
	Verb string `json:"verb"`
	// In which queue.
	Queue *string `json:"queue"`
	// To which job.
	JobID *string `json:"job_id"`
	// To which schedule.
	Schedule *string `json:"schedule"`
	// To which access key.
	KeyID *string `json:"key_id"`
	// To which database.
	Database *string `json:"database"`
	// To how many jobs. Null where it is not about jobs, or not known.
	Count *int64 `json:"count"`
	// `done`, `failed`, or the `code` of the refusal.
	Outcome string `json:"outcome"`
	// The address of the client.
	Address *string `json:"address"`
	// The `X-Request-Id` of the request.
	RequestID *string `json:"request_id"`
	Details AuditDetails `json:"details"`
}

// AuditPage: A page of the audit.
type AuditPage struct {
	// The entries, newest first.
	Entries []AuditEntry `json:"entries"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
}

// Backoff: The delay before a job is retried. What is left out takes its default: `exponential`, from 1 s to 1 h, jitter 0.2.
type Backoff struct {
	Kind *BackoffKind `json:"kind,omitempty"`
	// The first delay. Default: 1.
	BaseSeconds *float64 `json:"base_seconds,omitempty"`
	// The longest delay. Default: 3600.
	MaxSeconds *float64 `json:"max_seconds,omitempty"`
	// A delay is shortened by a random share of up to this. Default: 0.2.
	Jitter *float64 `json:"jitter,omitempty"`
}

// BackoffKind: How the delay after the n-th failed attempt grows: base × 2^(n-1), base × n, or always base.
type BackoffKind = string

// Batch: A batch of jobs, with its progress.
type Batch struct {
	// Opaque. Ids of later batches of a queue sort higher.
	ID string `json:"id"`
	// For people.
	Name *string `json:"name"`
	Queue QueueName `json:"queue"`
	State BatchState `json:"state"`
	Counts BatchCounts `json:"counts"`
	// Which of its followers may still be enqueued. `on_success` stays while jobs are dead, because they can be retried.
	Followers []BatchFollower `json:"followers"`
	// When it was created.
	CreatedAt string `json:"created_at"`
	// When it was closed.
	ClosedAt *string `json:"closed_at"`
	// When it was closed and all of its jobs were finished, for the first time.
	FinishedAt *string `json:"finished_at"`
}

// BatchCounts: How many of its jobs are in each state. Those that have ended count for as long as the batch is kept, also when they are gone. One that was purged, deleted or moved to another database counts as cancelled. One in a dead letter queue counts as dead.
type BatchCounts struct {
	// Jobs that are `scheduled`.
	Scheduled int64 `json:"scheduled"`
	// Jobs that are `ready`.
	Ready int64 `json:"ready"`
	// Jobs that are `blocked`.
	Blocked int64 `json:"blocked"`
	// Jobs that are `leased`.
	Leased int64 `json:"leased"`
	// Jobs that are `completed`.
	Completed int64 `json:"completed"`
	// Jobs that are `cancelled`.
	Cancelled int64 `json:"cancelled"`
	// Jobs that are `dead`.
	Dead int64 `json:"dead"`
}

// BatchExplanation: What a batch waits for.
type BatchExplanation struct {
	// The id of the batch.
	ID string `json:"id"`
	State BatchState `json:"state"`
	// What the batch waits for. `jobs_unfinished`: the end of its jobs. `follower_awaited`: a job that follows another batch. `open`: to be closed. `jobs_dead`: it has ended, and its `on_success` waits for a retry of dead jobs. `finished`: nothing.
	Code string `json:"code"`
	// The same in words.
	Detail string `json:"detail"`
	// One of the jobs that it waits for.
	JobID *string `json:"job_id,omitempty"`
}

// BatchFollower: What follows a batch.
type BatchFollower = string

// BatchPage: A page of batches.
type BatchPage struct {
	// The batches, newest first.
	Batches []Batch `json:"batches"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// BatchSpec: A batch, with its first jobs. When it is closed and all of its jobs are finished, `on_end` is enqueued, and `on_success` when all of them are completed. Their header `dibs-batch` has the id of the batch. A follower may belong to another batch: it counts there as unfinished until it is enqueued.
type BatchSpec struct {
	Queue QueueName `json:"queue"`
	// For people. Default: none.
	Name *string `json:"name,omitempty"`
	// Its first jobs, of any queues in the database of `queue`. Each is enqueued as by `POST /jobs`, without a `batch`. Default: none.
	Jobs []JobSpec `json:"jobs,omitempty"`
	OnSuccess *JobSpec `json:"on_success,omitempty"`
	OnEnd *JobSpec `json:"on_end,omitempty"`
	// No more jobs come in, but those that its own jobs add. Default: false.
	Closed *bool `json:"closed,omitempty"`
}

// BatchState: `open`: more jobs may come. `running`: it is closed, and some of its jobs are unfinished. `succeeded`: all of them are completed. `ended`: all of them are finished, and some are dead or cancelled. When dead ones are retried, it is `running` again.
type BatchState = string

// ClaimRequest: Which jobs to lease, how many, and for how long.
type ClaimRequest struct {
	// Where to look; earlier names first. Default: `["default"]`.
	Queues []QueueName `json:"queues,omitempty"`
	// At most this many jobs. Default: 1.
	Limit *int64 `json:"limit,omitempty"`
	// How long the leases run (visibility timeout). Default: the queue's.
	LeaseSeconds *float64 `json:"lease_seconds,omitempty"`
	// How long to wait for a first job when there is none; the timeout of the client must be longer. Default: 0.
	WaitSeconds *float64 `json:"wait_seconds,omitempty"`
	// The name of the worker, shown with the job.
	Worker *string `json:"worker,omitempty"`
	// A name for this claim, new for each one. A repeat with the same name gets the same leases while any of them lasts, so a lost answer loses no job. While the first request still waits, a repeat replaces it.
	ClaimID *string `json:"claim_id,omitempty"`
	// A session that you hold (`POST /sessions`). The leases end with it, when its connection is lost. Default: none.
	Session *string `json:"session,omitempty"`
	PayloadFormat *PayloadFormat `json:"payload_format,omitempty"`
}

// Count: How many jobs were changed.
type Count struct {
	// How many jobs.
	Count int64 `json:"count"`
}

// Database: A database, with the queues that this caller may see. `counts` has their jobs, as the metrics count them; it is left out while the database is away, and until all were counted once.
type Database struct {
	Name DatabaseName `json:"name"`
	// `open`: new queues go there. `closed`: none do, unless a PUT chooses it. `away`: it does not answer; calls for its queues are 503.
	State string `json:"state"`
	// How many queues it has. Left out while it is away.
	Queues *int64 `json:"queues,omitempty"`
	Counts *QueueCounts `json:"counts,omitempty"`
}

// DatabaseConfig: How a database is used.
type DatabaseConfig struct {
	// New queues go there. Those that are there stay.
	AcceptsQueues bool `json:"accepts_queues"`
}

// DatabaseName: The name of a database: `home`, or one of `DATABASE_URL_<NAME>`, in lower case.
type DatabaseName = string

// Databases: All databases of this Dibs.
type Databases struct {
	// The databases, `home` first.
	Databases []Database `json:"databases"`
}

// Explanation: The one reason why a job is not running.
type Explanation struct {
	// The id of the job.
	ID string `json:"id"`
	State JobState `json:"state"`
	// Why a job is not running. `next_in_line`: it can be claimed, `ahead` others go before it. `delayed`: until its `run_at`, or on its way to another database. `backing_off`: after a failed attempt. `behind_in_group`: others of its group go before it. `group_paused`: its group waits for a resume. `queue_paused`, `max_leased_reached`, `rate_limited`: claims get none of the queue. `leased`: it is running. `dead`, `completed`, `cancelled`: it is finished.
	Code string `json:"code"`
	// The reason in words.
	Detail string `json:"detail"`
	// How many jobs go before it, in its queue or in its group. Counted up to 10,000, and of up to 1,000 other fairness keys; `detail` says so.
	Ahead *int64 `json:"ahead,omitempty"`
	// When the reason is over, as far as can be told.
	Until *string `json:"until,omitempty"`
	// The job that is the head of its group.
	BlockingJobID *string `json:"blocking_job_id,omitempty"`
	// The `worker` of the claim that leased it.
	Worker *string `json:"worker,omitempty"`
	// The error of its last failure.
	LastError *string `json:"last_error,omitempty"`
}

// ExtendItem: One of many extends.
type ExtendItem struct {
	// The id of the job.
	ID string `json:"id"`
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// The lease runs this long from now.
	LeaseSeconds float64 `json:"lease_seconds"`
	// The progress of the work, shown with the job; up to 64 KiB.
	Progress json.RawMessage `json:"progress,omitempty"`
}

// ExtendRequest: The work takes longer.
type ExtendRequest struct {
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// The lease runs this long from now.
	LeaseSeconds float64 `json:"lease_seconds"`
	// The progress of the work, shown with the job; up to 64 KiB.
	Progress json.RawMessage `json:"progress,omitempty"`
}

// Extended: The result of an extend.
type Extended struct {
	// The id of the job.
	ID string `json:"id"`
	State JobState `json:"state"`
	// When the lease runs out now.
	LeaseExpiresAt string `json:"lease_expires_at"`
	// Somebody has cancelled the job. The worker should stop.
	CancelRequested bool `json:"cancel_requested"`
}

// FieldProblem: One field of a request, and what is wrong with it.
type FieldProblem struct {
	// The part of the request.
	In string `json:"in"`
	// A JSON pointer (RFC 6901) to the field within that part; empty for the whole.
	Path string `json:"path"`
	// What is wrong with it.
	Message string `json:"message"`
}

// GroupStatus: A group of a queue.
type GroupStatus struct {
	Queue QueueName `json:"queue"`
	// The name of the group.
	Group string `json:"group"`
	// It accepts jobs, but claims get none.
	Paused bool `json:"paused"`
}

// Health: Alive or ready.
type Health struct {
	// Always `ok`: what is not well is a problem document.
	Status string `json:"status"`
	// Of `/readyz`, where there are several databases: those that take no writes now. Left out while all do.
	NotReady []NotReady `json:"not_ready,omitempty"`
}

// HistoryEvent: Something that happened to a job.
type HistoryEvent struct {
	// When it happened. Null for a lease of which nobody noted when it began.
	At *string `json:"at"`
	// What happened.
	Event string `json:"event"`
	// The batch that it was enqueued into.
	Batch *string `json:"batch,omitempty"`
	// The batch whose end has enqueued it.
	Follows *string `json:"follows,omitempty"`
	// The attempt that it was about.
	Attempt *int64 `json:"attempt,omitempty"`
	// The leases that were given until then.
	Deliveries *int64 `json:"deliveries,omitempty"`
	// The worker whose lease it was about.
	Worker *string `json:"worker,omitempty"`
	// When that lease began.
	LeasedAt *string `json:"leased_at,omitempty"`
	// Who did it: the name of the access key or token. Left out where nobody needs one, for an `acked`, and for what Dibs does itself, such as `rescued`.
	By *string `json:"by,omitempty"`
	// The error, up to 2000 characters of it.
	Error *string `json:"error,omitempty"`
	// When the job was to run next.
	RunAt *string `json:"run_at,omitempty"`
}

// Job: A job and its state.
type Job struct {
	// Opaque; ids of later jobs sort higher.
	ID string `json:"id"`
	Queue QueueName `json:"queue"`
	State JobState `json:"state"`
	Headers JobHeaders `json:"headers"`
	// Higher first, from -100 to 100.
	Priority int64 `json:"priority"`
	// How many attempts are charged: claims, less releases.
	Attempt int64 `json:"attempt"`
	// How many attempts it has before it is dead.
	MaxAttempts int64 `json:"max_attempts"`
	// How many leases the job has had. It only grows, and so serves as a fencing token in the writes of a worker.
	Deliveries int64 `json:"deliveries"`
	// Its jobs go one at a time, in order of arrival.
	Group *string `json:"group"`
	// Within one priority, the keys of a queue take turns.
	FairnessKey *string `json:"fairness_key"`
	// No other unfinished job in the queue has it.
	UniqueKey *string `json:"unique_key"`
	// The id of the batch that it belongs to.
	Batch *string `json:"batch"`
	// When the job becomes ready, or became so last.
	RunAt string `json:"run_at"`
	// When it was enqueued.
	CreatedAt string `json:"created_at"`
	// When the lease runs out, unless it is settled or extended before.
	LeaseExpiresAt *string `json:"lease_expires_at"`
	// Who has it, or completed it: the `worker` of the claim.
	Worker *string `json:"worker"`
	// The error of its last failure; 16 KiB at most.
	LastError *string `json:"last_error"`
	// What its worker last reported by `extend`.
	Progress json.RawMessage `json:"progress"`
	// What its worker returned by `ack`.
	Result json.RawMessage `json:"result"`
	// When it was completed or cancelled, or became dead.
	FinishedAt *string `json:"finished_at"`
	// As it was sent; in `GET /jobs/{id}`, and in lists with `include=payload`.
	Payload json.RawMessage `json:"payload,omitempty"`
	// The JSON text of the payload, in place of `payload`: with `payload_format` `text`.
	PayloadText *string `json:"payload_text,omitempty"`
	// The beginning of the JSON text of the payload; in lists with `include=payload_preview`.
	PayloadPreview *string `json:"payload_preview,omitempty"`
	// After a nack that had `enqueue`: the jobs inserted with it; none unless it made the job dead.
	Enqueued []Job `json:"enqueued,omitempty"`
	// The id of the job as which it went to the `dead_letter_queue` of its queue, when it was dead. This one is `cancelled` then.
	MovedTo *string `json:"moved_to,omitempty"`
	// In the answer of an enqueue: this job has the `unique_key` already, and nothing was enqueued. Once it is gone, while its window runs, it is shown as it was enqueued, but `completed`.
	Deduplicated *bool `json:"deduplicated,omitempty"`
	// Beside `deduplicated`, when the enqueue said `on_duplicate` `replace`: whether this job waits, and is now as the enqueue asked. False: it is leased, or finished.
	Replaced *bool `json:"replaced,omitempty"`
}

// JobChange: What to change of a job. What is left out stays as it is.
type JobChange struct {
	// Any JSON value, in place of the one before.
	Payload json.RawMessage `json:"payload,omitempty"`
	Headers JobHeaders `json:"headers,omitempty"`
	// Higher first.
	Priority *int64 `json:"priority,omitempty"`
	// When the job becomes ready (RFC 3339, with an offset), within 366 days; the past means now. It changes nothing of a dead job, which waits to be retried.
	RunAt *string `json:"run_at,omitempty"`
	// How many attempts it has; more than a waiting job has had so far.
	MaxAttempts *int64 `json:"max_attempts,omitempty"`
	// It expires if nobody claims it within this time.
	ExpiresInSeconds *float64 `json:"expires_in_seconds,omitempty"`
}

// JobFilter: Which jobs of a queue: those that match all of it.
type JobFilter struct {
	// Jobs in which states. `cancel`: any but `completed` and `cancelled`. `retry`: `dead`, `scheduled`. `delete`: any but `leased`. `move`: `scheduled`, `ready`, `blocked`, `dead`.
	States []JobState `json:"states"`
	// The group that they are of.
	Group *string `json:"group,omitempty"`
	// Only those with this `fairness_key`.
	FairnessKey *string `json:"fairness_key,omitempty"`
	// Only those that this worker has, or has completed.
	Worker *string `json:"worker,omitempty"`
	// Only those whose `last_error` contains this, letter by letter.
	ErrorContains *string `json:"error_contains,omitempty"`
	// Only those that were enqueued at this time or later.
	CreatedAfter *string `json:"created_after,omitempty"`
	// Only those that were enqueued before this time.
	CreatedBefore *string `json:"created_before,omitempty"`
}

// JobHeaders: Short strings for metadata, handed to the worker as they are: up to 32. A job that is enqueued without a `traceparent` gets that of its request, if it has one.
type JobHeaders = map[string]string

// JobHistory: What happened to a job.
type JobHistory struct {
	// The id of the job.
	ID string `json:"id"`
	Queue QueueName `json:"queue"`
	// What happened, oldest first.
	Events []HistoryEvent `json:"events"`
	// There were more than 50 events: the older ones were dropped.
	Truncated bool `json:"truncated"`
}

// JobList: Jobs, in the order of the request.
type JobList struct {
	// The jobs.
	Jobs []Job `json:"jobs"`
}

// JobPage: A page of jobs.
type JobPage struct {
	// The jobs.
	Jobs []Job `json:"jobs"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
	// In a search of one queue: how many jobs this request looked at.
	LookedAt *int64 `json:"looked_at,omitempty"`
	// In a search of one queue: when the last of these was enqueued.
	LookedTo *string `json:"looked_to,omitempty"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// JobRates: What happens to jobs in a second, on average over the last minute, over all replicas.
type JobRates struct {
	// Jobs enqueued.
	Enqueued float64 `json:"enqueued"`
	// Enqueues that were answered with the job that had their `unique_key`.
	Deduplicated float64 `json:"deduplicated"`
	// Leases given.
	Claimed float64 `json:"claimed"`
	// Jobs completed.
	Acked float64 `json:"acked"`
	// Attempts that a worker said had failed.
	Nacked float64 `json:"nacked"`
	// Leases that were released.
	Released float64 `json:"released"`
	// Leases that ran out.
	Rescued float64 `json:"rescued"`
	// Jobs whose own time was over before anybody claimed them.
	Expired float64 `json:"expired"`
	// Jobs that became dead.
	Dead float64 `json:"dead"`
}

// JobSpec: A job to enqueue. `queue` is `default` when left out.
type JobSpec struct {
	Queue *QueueName `json:"queue,omitempty"`
	// Any JSON value; comes back exactly as it was sent, byte for byte. Default: null.
	Payload json.RawMessage `json:"payload,omitempty"`
	Headers JobHeaders `json:"headers,omitempty"`
	// Higher first. Default: 0.
	Priority *int64 `json:"priority,omitempty"`
	// How long from now the job becomes ready; not beside `run_at`. Default: 0.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	// When the job becomes ready (RFC 3339, with an offset), within 366 days; the past means now.
	RunAt *string `json:"run_at,omitempty"`
	// How many attempts it has. Default: the queue's.
	MaxAttempts *int64 `json:"max_attempts,omitempty"`
	Backoff *Backoff `json:"backoff,omitempty"`
	// Its tenant or the like: within one priority, the keys of a queue take turns; jobs without one count as one key more. Default: none.
	FairnessKey *string `json:"fairness_key,omitempty"`
	// At most one unfinished job in the queue has this key. While a job has it, an enqueue is answered with that job and `deduplicated`, and adds nothing.
	UniqueKey *string `json:"unique_key,omitempty"`
	// How long the key also stays taken after the enqueue, finished or not; only with a `unique_key`. Default: 0.
	UniqueForSeconds *float64 `json:"unique_for_seconds,omitempty"`
	OnDuplicate *OnDuplicate `json:"on_duplicate,omitempty"`
	UniqueUntil *UniqueUntil `json:"unique_until,omitempty"`
	// Jobs of one group in one queue run in order of arrival, one at a time: the next one can be claimed when the one before it is completed, dead or cancelled. Default: none.
	Group *string `json:"group,omitempty"`
	// The id of the batch that it belongs to. The batch is open, or the job is added by the ack or nack of one of its jobs. A job that is `deduplicated` joins no batch. Not in schedules.
	Batch *string `json:"batch,omitempty"`
	// How long from now it may be claimed, a delay included. One that waits then becomes `dead` with `last_error` "expired". Default: for ever.
	ExpiresInSeconds *float64 `json:"expires_in_seconds,omitempty"`
}

// JobSpecList: 1 to 1000 jobs, enqueued all or none.
type JobSpecList struct {
	// The jobs to enqueue.
	Jobs []JobSpec `json:"jobs"`
}

// JobState: `scheduled`: `run_at` is in the future. `ready`: can be claimed. `blocked`: waits for the job before it in its group. `leased`: with a worker until `lease_expires_at`. `completed`, `cancelled`: finished, visible while the queue's `retention_seconds` last. `dead`: out of attempts, refused by its worker or expired, kept for redrive.
type JobState = string

// KeyPage: A page of access keys.
type KeyPage struct {
	// The access keys.
	Keys []AccessKey `json:"keys"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
}

// KeyRotation: How to rotate an access key.
type KeyRotation struct {
	// How long the old key stays valid beside the new one. Default: 3600. 0: it is refused at once.
	OverlapSeconds *float64 `json:"overlap_seconds,omitempty"`
}

// LeasedJob: A job with its lease.
type LeasedJob struct {
	// Opaque; ids of later jobs sort higher.
	ID string `json:"id"`
	Queue QueueName `json:"queue"`
	State JobState `json:"state"`
	Headers JobHeaders `json:"headers"`
	// Higher first, from -100 to 100.
	Priority int64 `json:"priority"`
	// How many attempts are charged: claims, less releases.
	Attempt int64 `json:"attempt"`
	// How many attempts it has before it is dead.
	MaxAttempts int64 `json:"max_attempts"`
	// How many leases the job has had. It only grows, and so serves as a fencing token in the writes of a worker.
	Deliveries int64 `json:"deliveries"`
	// Its jobs go one at a time, in order of arrival.
	Group *string `json:"group"`
	// Within one priority, the keys of a queue take turns.
	FairnessKey *string `json:"fairness_key"`
	// No other unfinished job in the queue has it.
	UniqueKey *string `json:"unique_key"`
	// The id of the batch that it belongs to.
	Batch *string `json:"batch"`
	// When the job becomes ready, or became so last.
	RunAt string `json:"run_at"`
	// When it was enqueued.
	CreatedAt string `json:"created_at"`
	// When the lease runs out, unless settled or extended before.
	LeaseExpiresAt string `json:"lease_expires_at"`
	// Who has it, or completed it: the `worker` of the claim.
	Worker *string `json:"worker"`
	// The error of its last failure; 16 KiB at most.
	LastError *string `json:"last_error"`
	// What its worker last reported by `extend`.
	Progress json.RawMessage `json:"progress"`
	// What its worker returned by `ack`.
	Result json.RawMessage `json:"result"`
	// When it was completed or cancelled, or became dead.
	FinishedAt *string `json:"finished_at"`
	// As it was sent, byte for byte. Only `payload_format` `text` leaves it out.
	Payload json.RawMessage `json:"payload,omitempty"`
	// The JSON text of the payload, in place of `payload`: with `payload_format` `text`.
	PayloadText *string `json:"payload_text,omitempty"`
	// Proves this lease: acks, nacks, releases and extends need it.
	LeaseToken string `json:"lease_token"`
	// How long the claim gave the lease for. A repeat with the same `claim_id` is told the same, whatever it asks for, though some of that time is over. A worker needs no clock of its own.
	LeaseSeconds float64 `json:"lease_seconds"`
}

// LeasedJobList: Jobs, in the order of the queue.
type LeasedJobList struct {
	// The jobs, each with its lease.
	Jobs []LeasedJob `json:"jobs"`
}

// MadeKey: An access key that was just made, with the key itself.
type MadeKey struct {
	// Opaque. The key contains it, too.
	ID string `json:"id"`
	// Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name.
	Name string `json:"name"`
	// `produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything.
	Scopes []string `json:"scopes"`
	// Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all.
	Queues []string `json:"queues"`
	// When it was created.
	CreatedAt string `json:"created_at"`
	// When it ends; null: never.
	ExpiresAt *string `json:"expires_at"`
	// When it was revoked; null: it is not. It is shown for 7 days more.
	RevokedAt *string `json:"revoked_at"`
	// The minute of its last use; null: it was not used yet.
	LastUsedAt *string `json:"last_used_at"`
	// Until when the key from before the last rotation stays valid.
	OldKeyExpiresAt *string `json:"old_key_expires_at"`
	// The key. It is shown this once: Dibs keeps only its hash.
	Key string `json:"key"`
}

// MetricsText: Metrics in the text format of Prometheus or of OpenMetrics.
type MetricsText = string

// NackItem: One of many nacks.
type NackItem struct {
	// The id of the job.
	ID string `json:"id"`
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// What went wrong; its first 16 KiB are kept as `last_error`.
	Error *string `json:"error,omitempty"`
	// The delay before the retry. Default: by its backoff.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	// false: the job is dead at once, whatever attempts are left. Default: true.
	Retry *bool `json:"retry,omitempty"`
	// Jobs that compensate for this one, inserted if and only if this nack makes it dead.
	Enqueue []JobSpec `json:"enqueue,omitempty"`
}

// NackRequest: The job failed.
type NackRequest struct {
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// What went wrong; its first 16 KiB are kept as `last_error`.
	Error *string `json:"error,omitempty"`
	// The delay before the retry. Default: by its backoff.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
	// false: the job is dead at once, whatever attempts are left. Default: true.
	Retry *bool `json:"retry,omitempty"`
	// Jobs that compensate for this one, inserted if and only if this nack makes it dead.
	Enqueue []JobSpec `json:"enqueue,omitempty"`
}

// NewKey: An access key to create.
type NewKey struct {
	// Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name.
	Name string `json:"name"`
	// `produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything.
	Scopes []string `json:"scopes"`
	// Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all. Default: `["*"]`.
	Queues []string `json:"queues,omitempty"`
	// When it ends, within 366 days. Default: never.
	ExpiresAt *string `json:"expires_at,omitempty"`
	// The same, counted from now.
	ExpiresInSeconds *float64 `json:"expires_in_seconds,omitempty"`
}

// NotReady: A database that takes no writes now.
type NotReady struct {
	Name DatabaseName `json:"name"`
	// Why it takes no writes.
	Reason string `json:"reason"`
}

// OnDuplicate: `replace`: a job that has the `unique_key` and waits gets the `payload`, `headers`, `priority`, time, `expires_in_seconds` and `max_attempts` of this one, and keeps its id. One that is leased stays as it is. `keep`: it stays as it is. Only with a `unique_key`. Default: `keep`.
type OnDuplicate = string

// Operation: An operation on many jobs, with its progress.
type Operation struct {
	// Opaque. Newer operations have larger ids.
	ID string `json:"id"`
	// What it does to each job. `relocate`: the whole queue goes to the database `to`.
	Verb string `json:"verb"`
	Queue QueueName `json:"queue"`
	// The queue that a move goes to, or the database that a relocation goes to.
	To *string `json:"to"`
	Filter JobFilter `json:"filter"`
	// It only counts.
	DryRun bool `json:"dry_run"`
	// `running`: it counts, and then it works. `done`. `cancelled`: stopped; what it did stays done. `failed`: see `error`.
	State string `json:"state"`
	// It has counted all jobs that match. Until then `matched` grows.
	Counted bool `json:"counted"`
	// How many jobs matched at the call.
	Matched int64 `json:"matched"`
	// How many of them are done so far.
	Done int64 `json:"done"`
	// How many were skipped, because they had changed meanwhile, or another job has their `unique_key`, or the queue they should move to is full. Once `done`, it is all that matched and is not done.
	Skipped int64 `json:"skipped"`
	// Why it failed.
	Error *string `json:"error"`
	// For how long calls for the queue of a relocation will wait, at most. Null until its jobs are counted, and for other verbs.
	HoldSeconds *float64 `json:"hold_seconds"`
	// When it was started. It touches no job that came, or came back, later.
	CreatedAt string `json:"created_at"`
	// When it ended.
	FinishedAt *string `json:"finished_at"`
}

// OperationPage: A page of operations.
type OperationPage struct {
	// The operations, newest first.
	Operations []Operation `json:"operations"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// OperationRequest: What to do to which jobs.
type OperationRequest struct {
	// What to do to each job, as the call for a single job does it. `move`: to the queue `to`.
	Verb string `json:"verb"`
	Queue QueueName `json:"queue"`
	To *QueueName `json:"to,omitempty"`
	Filter JobFilter `json:"filter"`
	// Count only. Default: false.
	DryRun *bool `json:"dry_run,omitempty"`
}

// Overview: All queues at a glance.
type Overview struct {
	// The version of this replica.
	Version string `json:"version"`
	// Where to look at a trace: it has `{trace_id}`.
	TraceURL *string `json:"trace_url"`
	Caller OverviewCaller `json:"caller"`
	// False while some queues were not counted yet.
	Complete bool `json:"complete"`
	// How many queues have jobs, metrics of their own, or are paused.
	Total int64 `json:"total"`
	// How many of them have trouble.
	Troubled int64 `json:"troubled"`
	Counts QueueCounts `json:"counts"`
	PerSecond JobRates `json:"per_second"`
	// How long the longest waiting ready job has been ready.
	OldestReadyAgeSeconds *float64 `json:"oldest_ready_age_seconds"`
	// Seconds until the queue is empty at this rate; null while it does not shrink, or is paused. The sum is without paused queues.
	DrainSeconds *float64 `json:"drain_seconds"`
	// Those with trouble first, then the busiest.
	Queues []QueueOverview `json:"queues"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// OverviewCaller: Who asks, and what it may do.
type OverviewCaller struct {
	// The name of the access key or token.
	Name string `json:"name"`
	// False where no key is needed.
	NeedsKey bool `json:"needs_key"`
	// Its scopes. With `admin` it has all of them.
	Scopes []string `json:"scopes"`
	// Its queue patterns.
	Queues []string `json:"queues"`
}

// PayloadFormat: `json`: each payload as it was sent, in `payload`. `text`: its JSON text as a string, in `payload_text`. A client then decodes each payload by itself: one that it cannot read does not keep it from the others. Default: `json`.
type PayloadFormat = string

// Problem: Why a request was not carried out: problem details for HTTP APIs (RFC 9457).
type Problem struct {
	// A URI for the kind of problem (RFC 9457); follows `code`.
	Type string `json:"type"`
	// The kind of problem, in words.
	Title string `json:"title"`
	// The HTTP status.
	Status int64 `json:"status"`
	// What was wrong this time.
	Detail string `json:"detail"`
	// The kind of problem, for programs; stable.
	Code string `json:"code"`
	// With `invalid_request`: each field that is wrong.
	Errors []FieldProblem `json:"errors,omitempty"`
	// With 503, of a call that changes something. `not_done`: nothing was changed, it is safe to repeat the call as it is. `unknown`: it may have been done, or may still be. Repeat it with an `Idempotency-Key` or `claim_id`, or check first.
	Outcome *string `json:"outcome,omitempty"`
}

// PurgeRequest: Which jobs to delete.
type PurgeRequest struct {
	// Jobs in which states to delete.
	States []string `json:"states"`
}

// Queue: A queue, its configuration and how many jobs it has. `database` tells where it is; it is left out where there is one.
type Queue struct {
	Name QueueName `json:"name"`
	// It accepts jobs, but claims get none.
	Paused bool `json:"paused"`
	Config QueueConfig `json:"config"`
	Counts QueueCounts `json:"counts"`
	// How long the longest waiting ready job has been ready; null when there is none.
	OldestReadyAgeSeconds *float64 `json:"oldest_ready_age_seconds"`
	// When it was created.
	CreatedAt string `json:"created_at"`
	Database *DatabaseName `json:"database,omitempty"`
	// The groups that are paused. It is left out where there are none, and in lists.
	PausedGroups []string `json:"paused_groups,omitempty"`
}

// QueueConfig: What is left out takes its default; a limit that is left out is none.
type QueueConfig struct {
	// The lease (visibility timeout) of a claim that names none. Default: 30.
	LeaseSeconds *float64 `json:"lease_seconds,omitempty"`
	// The max_attempts of a job that names none. Default: 5.
	MaxAttempts *int64 `json:"max_attempts,omitempty"`
	Backoff *Backoff `json:"backoff,omitempty"`
	// How long completed and cancelled jobs stay visible. Default: 0, not at all.
	RetentionSeconds *float64 `json:"retention_seconds,omitempty"`
	// How long dead jobs are kept for redrive. Default: 1209600, 14 days.
	DeadRetentionSeconds *float64 `json:"dead_retention_seconds,omitempty"`
	// A job that has been ready for longer is an alert: the workers do not keep up, or nobody claims. Nothing is done to the job. Default: 300.
	AlertAfterSeconds *float64 `json:"alert_after_seconds,omitempty"`
	// The concurrency limit: how many jobs may be leased at once, over all replicas. A lease counts until it is settled or rescued. Default: no limit.
	MaxLeased *int64 `json:"max_leased,omitempty"`
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	// With so many ready and blocked jobs, enqueues are refused (429 `queue_full`). Default: no limit.
	MaxReady *int64 `json:"max_ready,omitempty"`
	DeadLetterQueue *QueueName `json:"dead_letter_queue,omitempty"`
	// How many jobs of one `group` may run at once, over all replicas. They begin in the order in which they came. A job that rests before its next attempt is one of them. When it is lowered, no further job of a group begins while more than that run. Default: 1.
	GroupConcurrency *int64 `json:"group_concurrency,omitempty"`
	// How many jobs of one `group` a claim may get, in their order. It gets no more than may run at once: see `group_concurrency`. Default: 1.
	GroupBatches *int64 `json:"group_batches,omitempty"`
	Database *DatabaseName `json:"database,omitempty"`
}

// QueueCounts: Jobs by state, as they are now: of a queue of up to 100,000 jobs that is asked for alone, and of the smallest queues of a page, up to 10,000 jobs together. The counts of larger ones are up to 20 times as old as counting them takes. On the first request, they may be those of the metrics, up to a minute old.
type QueueCounts struct {
	// Jobs that are scheduled.
	Scheduled int64 `json:"scheduled"`
	// Jobs that are ready.
	Ready int64 `json:"ready"`
	// Jobs that are blocked.
	Blocked int64 `json:"blocked"`
	// Jobs that are leased.
	Leased int64 `json:"leased"`
	// Jobs that are completed.
	Completed int64 `json:"completed"`
	// Jobs that are cancelled.
	Cancelled int64 `json:"cancelled"`
	// Jobs that are dead.
	Dead int64 `json:"dead"`
}

// QueueError: Why some jobs are dead.
type QueueError struct {
	// The first line of `last_error`, with a `#` for each number and id. Null: the jobs have no error.
	Error *string `json:"error"`
	// How many of the jobs that were looked at.
	Count int64 `json:"count"`
	// Finds these jobs in `GET /jobs` and `POST /operations`. Where errors are alike, other jobs may have it, too: count first (`dry_run`). Null: no text finds them.
	ErrorContains *string `json:"error_contains"`
	// The newest of these jobs.
	NewestJobID string `json:"newest_job_id"`
	// When the first of them became dead.
	FirstAt string `json:"first_at"`
	// When the last of them became dead.
	LastAt string `json:"last_at"`
}

// QueueErrors: Why jobs of a queue are dead.
type QueueErrors struct {
	Queue QueueName `json:"queue"`
	// How many dead jobs were looked at, the newest ones.
	LookedAt int64 `json:"looked_at"`
	// All dead jobs were looked at, and all their errors are here.
	Complete bool `json:"complete"`
	// Those of most jobs first.
	Errors []QueueError `json:"errors"`
}

// QueueExplanation: What a claim from a queue would get now, and if nothing, why.
type QueueExplanation struct {
	Queue QueueName `json:"queue"`
	// What a claim would get. `ready`: a job. With every other code it gets nothing. `empty`: the queue has no unfinished job. `paused`: the queue is paused. `max_leased_reached`, `rate_limited`: a job is ready, and a limit of the queue keeps it back. `all_leased`: every unfinished job is with a worker. `all_delayed`: the next job is scheduled. `all_blocked`: every waiting job is behind another job of its group.
	Code string `json:"code"`
	// The reason in words.
	Detail string `json:"detail"`
	// When the reason is over, as far as can be told.
	Until *string `json:"until,omitempty"`
	// The job that the reason is about: the next one to be claimed, the first one to be ready, a blocked one, or the one whose lease runs out first. Left out where fairness keys take turns.
	JobID *string `json:"job_id,omitempty"`
}

// QueueName: The name of a queue: 1 to 128 of `A-Z a-z 0-9 . _ : -`.
type QueueName = string

// QueueOverview: A queue at a glance. `counts` is left out until it was counted; `per_second` is left out for queues without metrics of their own. `database` tells where it is; it is left out where there is one.
type QueueOverview struct {
	Name QueueName `json:"name"`
	Database *DatabaseName `json:"database,omitempty"`
	// It accepts jobs, but claims get none.
	Paused bool `json:"paused"`
	// The worst first. `dead_growing`: Jobs became dead in the last minute. `failing`: Most leases end in a failure. `nobody_claims`: A job has been ready for a minute, and nothing was claimed. `oldest_too_old`: A job has been ready for longer than alert_after_seconds. `full`: max_ready is reached: enqueues are refused. `max_leased_reached`: max_leased is reached: claims get no jobs. `paused`: Claims get no jobs.
	Troubles []string `json:"troubles"`
	Counts *QueueCounts `json:"counts,omitempty"`
	// How old the counts are.
	CountedAgeSeconds *float64 `json:"counted_age_seconds"`
	// How long the longest waiting ready job has been ready.
	OldestReadyAgeSeconds *float64 `json:"oldest_ready_age_seconds"`
	PerSecond *JobRates `json:"per_second,omitempty"`
	// Seconds until the queue is empty at this rate; null while it does not shrink, or is paused. The sum is without paused queues.
	DrainSeconds *float64 `json:"drain_seconds"`
}

// QueuePage: A page of queues.
type QueuePage struct {
	// The queues.
	Queues []Queue `json:"queues"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// QueueSamples: A queue over the last minutes: a number for each time of `at`.
type QueueSamples struct {
	Name QueueName `json:"name"`
	// Ready jobs.
	Ready []float64 `json:"ready"`
	// Ready, blocked and scheduled jobs.
	Waiting []float64 `json:"waiting"`
	// Leased jobs.
	Leased []float64 `json:"leased"`
	// Dead jobs.
	Dead []float64 `json:"dead"`
	// How long the longest waiting ready job had been ready.
	OldestReadyAgeSeconds []float64 `json:"oldest_ready_age_seconds"`
	// Jobs enqueued, per second.
	Enqueued []float64 `json:"enqueued"`
	// Jobs completed, per second.
	Acked []float64 `json:"acked"`
	// Attempts that failed, per second.
	Failed []float64 `json:"failed"`
	// Jobs that became dead, per second.
	BecameDead []float64 `json:"became_dead"`
}

// RateLimit: In no window of that length are more jobs claimed, over all replicas. A job that comes back counts again.
type RateLimit struct {
	// How many jobs may be claimed.
	Jobs int64 `json:"jobs"`
	// The length of the window.
	PerSeconds float64 `json:"per_seconds"`
}

// RedriveRequest: Which dead jobs to make ready again.
type RedriveRequest struct {
	// At most this many, oldest first. Default: all.
	Limit *int64 `json:"limit,omitempty"`
	// Only those whose `last_error` contains this.
	ErrorContains *string `json:"error_contains,omitempty"`
	// In place of dead jobs, the dead letters of this queue that nobody works on: each goes back to the queue from which it came, if that has this `dead_letter_queue` now. `error_contains` looks at the header `dibs-dead-error`. Default: false.
	Home *bool `json:"home,omitempty"`
}

// ReleaseItem: One of many releases.
type ReleaseItem struct {
	// The id of the job.
	ID string `json:"id"`
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// How long from now the job becomes ready again. Default: 0.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
}

// ReleaseRequest: The job is given back unworked.
type ReleaseRequest struct {
	// The `lease_token` from the claim.
	LeaseToken string `json:"lease_token"`
	// How long from now the job becomes ready again. Default: 0.
	DelaySeconds *float64 `json:"delay_seconds,omitempty"`
}

// RelocateRequest: The database that a queue goes to.
type RelocateRequest struct {
	To DatabaseName `json:"to"`
	// Count only. Default: false.
	DryRun *bool `json:"dry_run,omitempty"`
}

// SampleSeries: A number for each time of `at`; null where it is not known.
type SampleSeries struct {
	// Ready jobs.
	Ready []float64 `json:"ready"`
	// Ready, blocked and scheduled jobs.
	Waiting []float64 `json:"waiting"`
	// Leased jobs.
	Leased []float64 `json:"leased"`
	// Dead jobs.
	Dead []float64 `json:"dead"`
	// How long the longest waiting ready job had been ready.
	OldestReadyAgeSeconds []float64 `json:"oldest_ready_age_seconds"`
	// Jobs enqueued, per second.
	Enqueued []float64 `json:"enqueued"`
	// Jobs completed, per second.
	Acked []float64 `json:"acked"`
	// Attempts that failed, per second.
	Failed []float64 `json:"failed"`
	// Jobs that became dead, per second.
	BecameDead []float64 `json:"became_dead"`
}

// Samples: The last minutes of the busiest queues. `all` has all queues together that the caller may see; it is left out with `queue`.
type Samples struct {
	// At most 120 times, the newest last.
	At []string `json:"at"`
	All *SampleSeries `json:"all,omitempty"`
	// The busiest queues.
	Queues []QueueSamples `json:"queues"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// Schedule: A schedule: at each tick of its cron, one job goes into its queue.
type Schedule struct {
	Name ScheduleName `json:"name"`
	// When it ticks: five fields (minute, hour, day of month, month, day of week), or six with the second first. Each takes `*`, numbers, names (`JAN`, `MON`), lists `1,15`, ranges `1-5` and steps `0-59/10`; a day of the month also `L` (the last one) and `15W` (the weekday next to it), a day of the week `MON#1` (the first in the month) and `FRI#L` (the last). A day of the month and one of the week are two ways to tick. Both must hold where one of them begins with `*`, also with a step, or that of the week with `+`.
	Cron string `json:"cron"`
	// The time zone whose clocks it goes by, as the IANA database names it.
	Timezone string `json:"timezone"`
	// It does not tick.
	Paused bool `json:"paused"`
	Job JobSpec `json:"job"`
	// Its next tick; null while it is paused.
	NextRunAt *string `json:"next_run_at"`
	// Its last tick; null before the first. A manual trigger does not count.
	LastRunAt *string `json:"last_run_at"`
	// Why its job was refused at its last tick, for example because the queue is full. Null when the tick was taken.
	LastError *string `json:"last_error"`
	// When the tick that was refused is tried again. Null when none was.
	RetryAt *string `json:"retry_at"`
}

// ScheduleName: The name of a schedule: 1 to 128 of `A-Z a-z 0-9 . _ : -`.
type ScheduleName = string

// SchedulePage: A page of schedules.
type SchedulePage struct {
	// The schedules.
	Schedules []Schedule `json:"schedules"`
	// For the next page; null on the last.
	NextCursor *string `json:"next_cursor"`
}

// ScheduleSpec: A schedule to create or replace. Its job is what `POST /jobs` takes, without `run_at`; `delay_seconds` counts from the tick on. The times, `name` and `last_error` are ignored: so a schedule that was read can be put back.
type ScheduleSpec struct {
	// When it ticks: five fields (minute, hour, day of month, month, day of week), or six with the second first. Each takes `*`, numbers, names (`JAN`, `MON`), lists `1,15`, ranges `1-5` and steps `0-59/10`; a day of the month also `L` (the last one) and `15W` (the weekday next to it), a day of the week `MON#1` (the first in the month) and `FRI#L` (the last). A day of the month and one of the week are two ways to tick. Both must hold where one of them begins with `*`, also with a step, or that of the week with `+`.
	Cron string `json:"cron"`
	// The time zone whose clocks it goes by, as the IANA database names it. Default: UTC.
	Timezone *string `json:"timezone,omitempty"`
	// It does not tick. Ticks that it misses are not made up for. Default: false.
	Paused *bool `json:"paused,omitempty"`
	Job JobSpec `json:"job"`
	Name *ScheduleName `json:"name,omitempty"`
	// Ignored: a schedule that was read can be put back as it is.
	NextRunAt *string `json:"next_run_at,omitempty"`
	// Ignored: a schedule that was read can be put back as it is.
	LastRunAt *string `json:"last_run_at,omitempty"`
	// Ignored: a schedule that was read can be put back as it is.
	LastError *string `json:"last_error,omitempty"`
	// Ignored: a schedule that was read can be put back as it is.
	RetryAt *string `json:"retry_at,omitempty"`
}

// SessionLine: A line of the answer. The first one has the id. Then there is an empty object every 3 s. The last one has `lost`.
type SessionLine struct {
	// In the first line: the id for claims.
	Session *string `json:"session,omitempty"`
	// In the first line: how long the session can be resumed.
	ResumeSeconds *float64 `json:"resume_seconds,omitempty"`
	Lost *SessionLoss `json:"lost,omitempty"`
}

// SessionLoss: Why this connection holds the session no longer. `resumed`: another connection has it. `session_ended`: it was not renewed in time. `stopping`: this replica stops; resume the session. `revoked`: the access key may do nothing any more.
type SessionLoss = string

// SessionRequest: A session to open, or to resume.
type SessionRequest struct {
	// The session to resume, also at another replica. Default: a new one.
	Session *string `json:"session,omitempty"`
	// How long after the end of its connection the session can be resumed. Then it ends. Default: 2, and for a resumed session what it had.
	ResumeSeconds *float64 `json:"resume_seconds,omitempty"`
}

// SettleRequest: Up to 1000 items in all, each the body of the single call plus `id`. With `claim`, the answer also has the next jobs.
type SettleRequest struct {
	// Jobs that are done.
	Acks []AckItem `json:"acks,omitempty"`
	// Jobs that failed.
	Nacks []NackItem `json:"nacks,omitempty"`
	// Jobs to give back unworked.
	Releases []ReleaseItem `json:"releases,omitempty"`
	// Leases to extend.
	Extends []ExtendItem `json:"extends,omitempty"`
	Claim *ClaimRequest `json:"claim,omitempty"`
}

// SettleResult: The result of one item. The `code` of its `problem` is one with which the single call is refused.
type SettleResult struct {
	// The id of the job.
	ID string `json:"id"`
	// The single call's HTTP status.
	Status int64 `json:"status"`
	State *JobState `json:"state,omitempty"`
	// With a nack or a release: when the job becomes ready again.
	RunAt *string `json:"run_at,omitempty"`
	// With an extend: when the lease runs out now.
	LeaseExpiresAt *string `json:"lease_expires_at,omitempty"`
	// With an extend: somebody has cancelled the job. The worker should stop.
	CancelRequested *bool `json:"cancel_requested,omitempty"`
	// With an ack, and with a nack that had `enqueue`: the jobs inserted with it.
	Enqueued []Job `json:"enqueued,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// SettleResults: One result per item, in the order of the request. `problem` says why the claim was refused, after the items were settled.
type SettleResults struct {
	// Of `acks`.
	Acks []SettleResult `json:"acks"`
	// Of `nacks`.
	Nacks []SettleResult `json:"nacks"`
	// Of `releases`.
	Releases []SettleResult `json:"releases"`
	// Of `extends`.
	Extends []SettleResult `json:"extends"`
	// With `claim`: the jobs that it leased; empty when there is none.
	Jobs []LeasedJob `json:"jobs,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// UniqueUntil: How long a job holds its `unique_key`. `claimed`: a claim frees it, and `unique_key` is null then. A job that comes back holds it again within a second, unless another job has taken it: then it stays without. Only with a `unique_key`. Default: `finished`.
type UniqueUntil = string

// Version: Which Dibs answers.
type Version struct {
	// The version of Dibs.
	Version string `json:"version"`
	// The version of Node.js that it runs on.
	Node string `json:"node"`
}

// WorkerNow: A worker with jobs.
type WorkerNow struct {
	// Its name. Null: all those that gave none.
	Worker *string `json:"worker"`
	// How many jobs it has.
	Leased int64 `json:"leased"`
	// Their queues.
	Queues []QueueName `json:"queues"`
	// When the oldest of its leases began.
	Since *string `json:"since"`
	// When the first of its leases runs out.
	NextLeaseExpiresAt string `json:"next_lease_expires_at"`
}

// Workers: Who works now.
type Workers struct {
	// Those with most leases first.
	Workers []WorkerNow `json:"workers"`
	// How many there are.
	Total int64 `json:"total"`
	// All leases were looked at.
	Complete bool `json:"complete"`
	// The databases that do not answer: this is without what they have. Left out while all answer.
	Away []DatabaseName `json:"away,omitempty"`
}

// GetHealth: Is the process alive?.
func (c *Client) GetHealth(ctx context.Context) (*Health, error) {
	call := newCall("GET", "/healthz", nil)
	var answer Health
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetReadiness: Does the database answer, and is it migrated?.
func (c *Client) GetReadiness(ctx context.Context) (*Health, error) {
	call := newCall("GET", "/readyz", nil)
	var answer Health
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetVersion: The versions of this Dibs.
func (c *Client) GetVersion(ctx context.Context) (*Version, error) {
	call := newCall("GET", "/version", nil)
	var answer Version
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetMetrics: Metrics for Prometheus.
func (c *Client) GetMetrics(ctx context.Context) (*string, error) {
	call := newCall("GET", "/metrics", nil)
	var answer string
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// EnqueueJobOptions: what EnqueueJob may be told.
type EnqueueJobOptions struct {
	// Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. Bodies are equal when they are the same JSON, with the members of objects in any order and white space anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation marks included.
	IdempotencyKey *string
	// Preferences (RFC 7240). `wait=20` asks to be answered with the finished job, if it finishes within so many seconds (whole ones, up to 60); the timeout of the client must be longer. Others are ignored.
	Prefer *string
}

// EnqueueJob: Enqueue a job.
func (c *Client) EnqueueJob(ctx context.Context, body JobSpec, options *EnqueueJobOptions) (*Job, error) {
	call := newCall("POST", "/jobs", body)
	if options != nil {
		put(call.header, "Idempotency-Key", options.IdempotencyKey)
		put(call.header, "Prefer", options.Prefer)
	}
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListJobsOptions: what ListJobs may be told.
type ListJobsOptions struct {
	Queue *QueueName
	State *JobState
	// The group that they are of.
	Group *string
	// Only those with this `fairness_key`.
	FairnessKey *string
	// Only those that this worker has, or has completed.
	Worker *string
	// Only those whose `last_error` contains this, letter by letter.
	ErrorContains *string
	// Only those that were enqueued at this time or later.
	CreatedAfter *string
	// Only those that were enqueued before this time.
	CreatedBefore *string
	// Only those with this `unique_key`.
	UniqueKey *string
	// Only those of this batch, by its id. Beside it, only `queue` and `state` may filter.
	Batch *string
	// Only those whose payload, as it was sent, contains this, letter by letter. It needs a `queue`.
	PayloadContains *string
	// What else to show. `payload_preview`: the first 200 characters of each payload.
	Include *string
	// By when they were enqueued.
	Order *string
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
	PayloadFormat *PayloadFormat
}

// ListJobs: List jobs, newest first.
func (c *Client) ListJobs(ctx context.Context, options *ListJobsOptions) (*JobPage, error) {
	call := newCall("GET", "/jobs", nil)
	if options != nil {
		put(call.query, "queue", options.Queue)
		put(call.query, "state", options.State)
		put(call.query, "group", options.Group)
		put(call.query, "fairness_key", options.FairnessKey)
		put(call.query, "worker", options.Worker)
		put(call.query, "error_contains", options.ErrorContains)
		put(call.query, "created_after", options.CreatedAfter)
		put(call.query, "created_before", options.CreatedBefore)
		put(call.query, "unique_key", options.UniqueKey)
		put(call.query, "batch", options.Batch)
		put(call.query, "payload_contains", options.PayloadContains)
		put(call.query, "include", options.Include)
		put(call.query, "order", options.Order)
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
		put(call.query, "payload_format", options.PayloadFormat)
	}
	var answer JobPage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// EnqueueJobsOptions: what EnqueueJobs may be told.
type EnqueueJobsOptions struct {
	// Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. Bodies are equal when they are the same JSON, with the members of objects in any order and white space anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation marks included.
	IdempotencyKey *string
}

// EnqueueJobs: Enqueue up to 1000 jobs, all or none.
func (c *Client) EnqueueJobs(ctx context.Context, body JobSpecList, options *EnqueueJobsOptions) (*JobList, error) {
	call := newCall("POST", "/jobs/batch", body)
	if options != nil {
		put(call.header, "Idempotency-Key", options.IdempotencyKey)
	}
	var answer JobList
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetJobOptions: what GetJob may be told.
type GetJobOptions struct {
	// How long to wait for the end of the job; the timeout of the client must be longer.
	WaitSeconds *float64
	PayloadFormat *PayloadFormat
}

// GetJob: Get a job, or wait until it is finished.
func (c *Client) GetJob(ctx context.Context, id string, options *GetJobOptions) (*Job, error) {
	call := newCall("GET", "/jobs/" + url.PathEscape(id), nil)
	if options != nil {
		put(call.query, "wait_seconds", options.WaitSeconds)
		put(call.query, "payload_format", options.PayloadFormat)
	}
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CancelJob: Cancel a job.
func (c *Client) CancelJob(ctx context.Context, id string) (*Job, error) {
	call := newCall("DELETE", "/jobs/" + url.PathEscape(id), nil)
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ChangeJob: Change a job that waits or is dead.
func (c *Client) ChangeJob(ctx context.Context, id string, body JobChange) (*Job, error) {
	call := newCall("PATCH", "/jobs/" + url.PathEscape(id), body)
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// RetryJob: Make a dead or scheduled job ready.
func (c *Client) RetryJob(ctx context.Context, id string) (*Job, error) {
	call := newCall("POST", "/jobs/" + url.PathEscape(id) + "/retry", nil)
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetJobHistory: What happened to my job?.
func (c *Client) GetJobHistory(ctx context.Context, id string) (*JobHistory, error) {
	call := newCall("GET", "/jobs/" + url.PathEscape(id) + "/history", nil)
	var answer JobHistory
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ExplainJob: Why is my job not running?.
func (c *Client) ExplainJob(ctx context.Context, id string) (*Explanation, error) {
	call := newCall("GET", "/jobs/" + url.PathEscape(id) + "/explain", nil)
	var answer Explanation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ExplainQueue: Why does my claim get nothing?.
func (c *Client) ExplainQueue(ctx context.Context, queue string) (*QueueExplanation, error) {
	call := newCall("GET", "/queues/" + url.PathEscape(queue) + "/explain", nil)
	var answer QueueExplanation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetQueueErrors: Why are jobs dead?.
func (c *Client) GetQueueErrors(ctx context.Context, queue string) (*QueueErrors, error) {
	call := newCall("GET", "/queues/" + url.PathEscape(queue) + "/errors", nil)
	var answer QueueErrors
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListWorkersOptions: what ListWorkers may be told.
type ListWorkersOptions struct {
	Queue *QueueName
}

// ListWorkers: Who works now?.
func (c *Client) ListWorkers(ctx context.Context, options *ListWorkersOptions) (*Workers, error) {
	call := newCall("GET", "/workers", nil)
	if options != nil {
		put(call.query, "queue", options.Queue)
	}
	var answer Workers
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ClaimJobs: Lease ready jobs.
func (c *Client) ClaimJobs(ctx context.Context, body ClaimRequest) (*LeasedJobList, error) {
	call := newCall("POST", "/jobs/claim", body)
	var answer LeasedJobList
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// AckJob: Complete a job: its work is done.
func (c *Client) AckJob(ctx context.Context, id string, body AckRequest) (*Acked, error) {
	call := newCall("POST", "/jobs/" + url.PathEscape(id) + "/ack", body)
	var answer Acked
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// NackJob: Fail an attempt: the job is retried after its backoff, or is dead.
func (c *Client) NackJob(ctx context.Context, id string, body NackRequest) (*Job, error) {
	call := newCall("POST", "/jobs/" + url.PathEscape(id) + "/nack", body)
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ReleaseJob: Release a job: no attempt is charged.
func (c *Client) ReleaseJob(ctx context.Context, id string, body ReleaseRequest) (*Job, error) {
	call := newCall("POST", "/jobs/" + url.PathEscape(id) + "/release", body)
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ExtendLease: Extend a lease.
func (c *Client) ExtendLease(ctx context.Context, id string, body ExtendRequest) (*Extended, error) {
	call := newCall("POST", "/jobs/" + url.PathEscape(id) + "/extend", body)
	var answer Extended
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// SettleJobs: Ack, nack, release and extend many jobs at once.
func (c *Client) SettleJobs(ctx context.Context, body SettleRequest) (*SettleResults, error) {
	call := newCall("POST", "/jobs/settle", body)
	var answer SettleResults
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListQueuesOptions: what ListQueues may be told.
type ListQueuesOptions struct {
	// Only those whose name contains this.
	NameContains *string
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
}

// ListQueues: List queues by name.
func (c *Client) ListQueues(ctx context.Context, options *ListQueuesOptions) (*QueuePage, error) {
	call := newCall("GET", "/queues", nil)
	if options != nil {
		put(call.query, "name_contains", options.NameContains)
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
	}
	var answer QueuePage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetQueue: Get a queue.
func (c *Client) GetQueue(ctx context.Context, queue string) (*Queue, error) {
	call := newCall("GET", "/queues/" + url.PathEscape(queue), nil)
	var answer Queue
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ConfigureQueue: Configure a queue.
func (c *Client) ConfigureQueue(ctx context.Context, queue string, body QueueConfig) (*Queue, error) {
	call := newCall("PUT", "/queues/" + url.PathEscape(queue), body)
	var answer Queue
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// DeleteQueueOptions: what DeleteQueue may be told.
type DeleteQueueOptions struct {
	// Delete its jobs, too, leased ones included.
	Force *bool
}

// DeleteQueue: Delete a queue.
func (c *Client) DeleteQueue(ctx context.Context, queue string, options *DeleteQueueOptions) error {
	call := newCall("DELETE", "/queues/" + url.PathEscape(queue), nil)
	if options != nil {
		put(call.query, "force", options.Force)
	}
	return c.do(ctx, call, nil)
}

// PauseQueue: Pause a queue.
func (c *Client) PauseQueue(ctx context.Context, queue string) (*Queue, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/pause", nil)
	var answer Queue
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ResumeQueue: Resume a queue.
func (c *Client) ResumeQueue(ctx context.Context, queue string) (*Queue, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/resume", nil)
	var answer Queue
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// PauseGroup: Pause a group.
func (c *Client) PauseGroup(ctx context.Context, queue string, group string) (*GroupStatus, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/groups/" + url.PathEscape(group) + "/pause", nil)
	var answer GroupStatus
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ResumeGroup: Resume a group.
func (c *Client) ResumeGroup(ctx context.Context, queue string, group string) (*GroupStatus, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/groups/" + url.PathEscape(group) + "/resume", nil)
	var answer GroupStatus
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// PurgeQueue: Delete the jobs in some states.
func (c *Client) PurgeQueue(ctx context.Context, queue string, body PurgeRequest) (*Count, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/purge", body)
	var answer Count
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// RedriveQueue: Make dead jobs ready again.
func (c *Client) RedriveQueue(ctx context.Context, queue string, body RedriveRequest) (*Count, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/redrive", body)
	var answer Count
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListDatabases: List the databases.
func (c *Client) ListDatabases(ctx context.Context) (*Databases, error) {
	call := newCall("GET", "/databases", nil)
	var answer Databases
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ConfigureDatabase: Open or close a database for new queues.
func (c *Client) ConfigureDatabase(ctx context.Context, name string, body DatabaseConfig) (*Database, error) {
	call := newCall("PUT", "/databases/" + url.PathEscape(name), body)
	var answer Database
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CreateBatchOptions: what CreateBatch may be told.
type CreateBatchOptions struct {
	// Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. Bodies are equal when they are the same JSON, with the members of objects in any order and white space anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation marks included.
	IdempotencyKey *string
}

// CreateBatch: Create a batch: jobs that belong together, and what follows their end.
func (c *Client) CreateBatch(ctx context.Context, body BatchSpec, options *CreateBatchOptions) (*Batch, error) {
	call := newCall("POST", "/batches", body)
	if options != nil {
		put(call.header, "Idempotency-Key", options.IdempotencyKey)
	}
	var answer Batch
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListBatchesOptions: what ListBatches may be told.
type ListBatchesOptions struct {
	Queue *QueueName
	State *BatchState
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
}

// ListBatches: List batches, newest first.
func (c *Client) ListBatches(ctx context.Context, options *ListBatchesOptions) (*BatchPage, error) {
	call := newCall("GET", "/batches", nil)
	if options != nil {
		put(call.query, "queue", options.Queue)
		put(call.query, "state", options.State)
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
	}
	var answer BatchPage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetBatchOptions: what GetBatch may be told.
type GetBatchOptions struct {
	// How long to wait for the end of the batch; the timeout of the client must be longer.
	WaitSeconds *float64
}

// GetBatch: Get a batch, or wait until it has ended.
func (c *Client) GetBatch(ctx context.Context, id string, options *GetBatchOptions) (*Batch, error) {
	call := newCall("GET", "/batches/" + url.PathEscape(id), nil)
	if options != nil {
		put(call.query, "wait_seconds", options.WaitSeconds)
	}
	var answer Batch
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CancelBatch: Cancel a batch.
func (c *Client) CancelBatch(ctx context.Context, id string) (*Batch, error) {
	call := newCall("DELETE", "/batches/" + url.PathEscape(id), nil)
	var answer Batch
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ExplainBatch: What does my batch wait for?.
func (c *Client) ExplainBatch(ctx context.Context, id string) (*BatchExplanation, error) {
	call := newCall("GET", "/batches/" + url.PathEscape(id) + "/explain", nil)
	var answer BatchExplanation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CloseBatch: Close a batch.
func (c *Client) CloseBatch(ctx context.Context, id string) (*Batch, error) {
	call := newCall("POST", "/batches/" + url.PathEscape(id) + "/close", nil)
	var answer Batch
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// HoldSession: Hold a session: leases that end when this connection is lost.
func (c *Client) HoldSession(ctx context.Context, body SessionRequest) (*SessionLine, error) {
	call := newCall("POST", "/sessions", body)
	var answer SessionLine
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// StartOperation: Cancel, retry, delete or move any number of jobs.
func (c *Client) StartOperation(ctx context.Context, body OperationRequest) (*Operation, error) {
	call := newCall("POST", "/operations", body)
	var answer Operation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListOperationsOptions: what ListOperations may be told.
type ListOperationsOptions struct {
	Queue *QueueName
	// Only those in this state.
	State *string
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
}

// ListOperations: List operations, newest first.
func (c *Client) ListOperations(ctx context.Context, options *ListOperationsOptions) (*OperationPage, error) {
	call := newCall("GET", "/operations", nil)
	if options != nil {
		put(call.query, "queue", options.Queue)
		put(call.query, "state", options.State)
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
	}
	var answer OperationPage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// RelocateQueue: Move a queue to another database.
func (c *Client) RelocateQueue(ctx context.Context, queue string, body RelocateRequest) (*Operation, error) {
	call := newCall("POST", "/queues/" + url.PathEscape(queue) + "/relocate", body)
	var answer Operation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetOperation: Get an operation.
func (c *Client) GetOperation(ctx context.Context, id string) (*Operation, error) {
	call := newCall("GET", "/operations/" + url.PathEscape(id), nil)
	var answer Operation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// StopOperation: Stop an operation.
func (c *Client) StopOperation(ctx context.Context, id string) (*Operation, error) {
	call := newCall("DELETE", "/operations/" + url.PathEscape(id), nil)
	var answer Operation
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetOverviewOptions: what GetOverview may be told.
type GetOverviewOptions struct {
	Queue *QueueName
	// How many queues to show at most.
	Limit *int64
}

// GetOverview: All queues at a glance, those with trouble first.
func (c *Client) GetOverview(ctx context.Context, options *GetOverviewOptions) (*Overview, error) {
	call := newCall("GET", "/overview", nil)
	if options != nil {
		put(call.query, "queue", options.Queue)
		put(call.query, "limit", options.Limit)
	}
	var answer Overview
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetSamplesOptions: what GetSamples may be told.
type GetSamplesOptions struct {
	Queue *QueueName
	// How many minutes back. With more than 120, the points are farther apart.
	Minutes *int64
}

// GetSamples: The last minutes of the busiest queues.
func (c *Client) GetSamples(ctx context.Context, options *GetSamplesOptions) (*Samples, error) {
	call := newCall("GET", "/overview/samples", nil)
	if options != nil {
		put(call.query, "queue", options.Queue)
		put(call.query, "minutes", options.Minutes)
	}
	var answer Samples
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListSchedulesOptions: what ListSchedules may be told.
type ListSchedulesOptions struct {
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
}

// ListSchedules: List schedules by name.
func (c *Client) ListSchedules(ctx context.Context, options *ListSchedulesOptions) (*SchedulePage, error) {
	call := newCall("GET", "/schedules", nil)
	if options != nil {
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
	}
	var answer SchedulePage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// GetSchedule: Get a schedule.
func (c *Client) GetSchedule(ctx context.Context, name string) (*Schedule, error) {
	call := newCall("GET", "/schedules/" + url.PathEscape(name), nil)
	var answer Schedule
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// PutSchedule: Create a schedule, or replace it whole.
func (c *Client) PutSchedule(ctx context.Context, name string, body ScheduleSpec) (*Schedule, error) {
	call := newCall("PUT", "/schedules/" + url.PathEscape(name), body)
	var answer Schedule
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// DeleteSchedule: Delete a schedule.
func (c *Client) DeleteSchedule(ctx context.Context, name string) error {
	call := newCall("DELETE", "/schedules/" + url.PathEscape(name), nil)
	return c.do(ctx, call, nil)
}

// TriggerSchedule: Enqueue the job of a schedule now.
func (c *Client) TriggerSchedule(ctx context.Context, name string) (*Job, error) {
	call := newCall("POST", "/schedules/" + url.PathEscape(name) + "/trigger", nil)
	var answer Job
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListKeysOptions: what ListKeys may be told.
type ListKeysOptions struct {
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
}

// ListKeys: List access keys, oldest first.
func (c *Client) ListKeys(ctx context.Context, options *ListKeysOptions) (*KeyPage, error) {
	call := newCall("GET", "/keys", nil)
	if options != nil {
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
	}
	var answer KeyPage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CreateKey: Create an access key.
func (c *Client) CreateKey(ctx context.Context, body NewKey) (*MadeKey, error) {
	call := newCall("POST", "/keys", body)
	var answer MadeKey
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// RevokeKey: Revoke an access key.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	call := newCall("DELETE", "/keys/" + url.PathEscape(id), nil)
	return c.do(ctx, call, nil)
}

// RotateKey: Give an access key a new secret.
func (c *Client) RotateKey(ctx context.Context, id string, body KeyRotation) (*MadeKey, error) {
	call := newCall("POST", "/keys/" + url.PathEscape(id) + "/rotate", body)
	var answer MadeKey
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// ListAuditOptions: what ListAudit may be told.
type ListAuditOptions struct {
	// Only what this key or token did, by its name.
	Actor *string
	// Only this verb, such as `purgeQueue`.
	Verb *string
	Queue *QueueName
	// Only what was done at this time or later.
	CreatedAfter *string
	// Only what was done before this time.
	CreatedBefore *string
	// The page size. A page may be shorter.
	Limit *int64
	// The `next_cursor` of the page before.
	Cursor *string
}

// ListAudit: Who did what with the scope admin, newest first.
func (c *Client) ListAudit(ctx context.Context, options *ListAuditOptions) (*AuditPage, error) {
	call := newCall("GET", "/audit", nil)
	if options != nil {
		put(call.query, "actor", options.Actor)
		put(call.query, "verb", options.Verb)
		put(call.query, "queue", options.Queue)
		put(call.query, "created_after", options.CreatedAfter)
		put(call.query, "created_before", options.CreatedBefore)
		put(call.query, "limit", options.Limit)
		put(call.query, "cursor", options.Cursor)
	}
	var answer AuditPage
	if err := c.do(ctx, call, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}
