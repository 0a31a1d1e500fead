// Generated from openapi/openapi.json by `npm run generate`. Do not edit.

import { type Caller, type CallOptions, part } from './caller.ts';

/** An access key, without the key itself. */
export interface AccessKey {
  /** Opaque. The key contains it, too. */
  id: string;
  /** Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name. */
  name: string;
  /** `produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything. */
  scopes: ('produce' | 'consume' | 'read' | 'admin')[];
  /** Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all. */
  queues: string[];
  /** When it was created. */
  created_at: string;
  /** When it ends; null: never. */
  expires_at: string | null;
  /** When it was revoked; null: it is not. It is shown for 7 days more. */
  revoked_at: string | null;
  /** The minute of its last use; null: it was not used yet. */
  last_used_at: string | null;
  /** Until when the key from before the last rotation stays valid. */
  old_key_expires_at: string | null;
}

/** One of many acks. */
export interface AckItem {
  /** The id of the job. */
  id: string;
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** The result of the job, up to 64 KiB. It is kept while the queue's `retention_seconds` last. */
  result?: unknown;
  /** Jobs that follow, inserted if and only if the ack counts. */
  enqueue?: JobSpec[];
}

/** The job is done. */
export interface AckRequest {
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** The result of the job, up to 64 KiB. It is kept while the queue's `retention_seconds` last. */
  result?: unknown;
  /** Jobs that follow, inserted if and only if the ack counts. */
  enqueue?: JobSpec[];
}

/** The result of an ack. */
export interface Acked {
  /** The id of the job. */
  id: string;
  state: JobState;
  /** The jobs inserted with the ack. */
  enqueued: Job[];
}

/** More of what was done. It has only what there is to say. */
export interface AuditDetails {
  /** To which batch. */
  batch_id?: string;
  /** To which group. */
  group?: string;
  /** Which operation was started or stopped. */
  operation_id?: string;
  /** The verb of that operation, such as `delete`. */
  operation?: string;
  /** To which queue the operation moves jobs. */
  to?: string;
  /** The operation or relocation only counted. */
  dry_run?: boolean;
  /** A redrive sent dead letters back to the queues they came from. */
  home?: boolean;
  /** A queue was deleted with its jobs. */
  force?: boolean;
  /** Jobs of which states were purged. */
  states?: string[];
}

/** Something that was done with the scope `admin`. */
export interface AuditEntry {
  /** Newer entries have larger numbers. */
  id: string;
  /** When it was done. */
  created_at: string;
  /** The name of the access key or token. `anybody`, where nobody needs one. */
  actor: string;
  /** Its id. Null where nobody needs one. */
  actor_id: string | null;
  /** What was done. */
  verb: string;
  /** In which queue. */
  queue: string | null;
  /** To which job. */
  job_id: string | null;
  /** To which schedule. */
  schedule: string | null;
  /** To which access key. */
  key_id: string | null;
  /** To which database. */
  database: string | null;
  /** To how many jobs. Null where it is not about jobs, or not known. */
  count: number | null;
  /** `done`, `failed`, or the `code` of the refusal. */
  outcome: string;
  /** The address of the client. */
  address: string | null;
  /** The `X-Request-Id` of the request. */
  request_id: string | null;
  details: AuditDetails;
}

/** A page of the audit. */
export interface AuditPage {
  /** The entries, newest first. */
  entries: AuditEntry[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
}

/** The delay before a job is retried. What is left out takes its default: `exponential`, from 1 s to 1 h, jitter 0.2. */
export interface Backoff {
  kind?: BackoffKind;
  /** The first delay. Default: 1. */
  base_seconds?: number;
  /** The longest delay. Default: 3600. */
  max_seconds?: number;
  /** A delay is shortened by a random share of up to this. Default: 0.2. */
  jitter?: number;
}

/** How the delay after the n-th failed attempt grows: base × 2^(n-1), base × n, or always base. */
export type BackoffKind = 'exponential' | 'linear' | 'constant';

/** A batch of jobs, with its progress. */
export interface Batch {
  /** Opaque. Ids of later batches of a queue sort higher. */
  id: string;
  /** For people. */
  name: string | null;
  queue: QueueName;
  state: BatchState;
  counts: BatchCounts;
  /** Which of its followers may still be enqueued. `on_success` stays while jobs are dead, because they can be retried. */
  followers: BatchFollower[];
  /** When it was created. */
  created_at: string;
  /** When it was closed. */
  closed_at: string | null;
  /** When it was closed and all of its jobs were finished, for the first time. */
  finished_at: string | null;
}

/** How many of its jobs are in each state. Those that have ended count for as long as the batch is kept, also when they are gone. One that was purged, deleted or moved to another database counts as cancelled. One in a dead letter queue counts as dead. */
export interface BatchCounts {
  /** Jobs that are `scheduled`. */
  scheduled: number;
  /** Jobs that are `ready`. */
  ready: number;
  /** Jobs that are `blocked`. */
  blocked: number;
  /** Jobs that are `leased`. */
  leased: number;
  /** Jobs that are `completed`. */
  completed: number;
  /** Jobs that are `cancelled`. */
  cancelled: number;
  /** Jobs that are `dead`. */
  dead: number;
}

/** What a batch waits for. */
export interface BatchExplanation {
  /** The id of the batch. */
  id: string;
  state: BatchState;
  /** What the batch waits for. `jobs_unfinished`: the end of its jobs. `follower_awaited`: a job that follows another batch. `open`: to be closed. `jobs_dead`: it has ended, and its `on_success` waits for a retry of dead jobs. `finished`: nothing. */
  code: 'open' | 'jobs_unfinished' | 'follower_awaited' | 'jobs_dead' | 'finished';
  /** The same in words. */
  detail: string;
  /** One of the jobs that it waits for. */
  job_id?: string;
}

/** What follows a batch. */
export type BatchFollower = 'on_end' | 'on_success';

/** A page of batches. */
export interface BatchPage {
  /** The batches, newest first. */
  batches: Batch[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** A batch, with its first jobs. When it is closed and all of its jobs are finished, `on_end` is enqueued, and `on_success` when all of them are completed. Their header `dibs-batch` has the id of the batch. A follower may belong to another batch: it counts there as unfinished until it is enqueued. */
export interface BatchSpec {
  queue: QueueName;
  /** For people. Default: none. */
  name?: string;
  /** Its first jobs, of any queues in the database of `queue`. Each is enqueued as by `POST /jobs`, without a `batch`. Default: none. */
  jobs?: JobSpec[];
  on_success?: JobSpec;
  on_end?: JobSpec;
  /** No more jobs come in, but those that its own jobs add. Default: false. */
  closed?: boolean;
}

/** `open`: more jobs may come. `running`: it is closed, and some of its jobs are unfinished. `succeeded`: all of them are completed. `ended`: all of them are finished, and some are dead or cancelled. When dead ones are retried, it is `running` again. */
export type BatchState = 'open' | 'running' | 'succeeded' | 'ended';

/** Which jobs to lease, how many, and for how long. */
export interface ClaimRequest {
  /** Where to look; earlier names first. Default: `["default"]`. */
  queues?: QueueName[];
  /** At most this many jobs. Default: 1. */
  limit?: number;
  /** How long the leases run (visibility timeout). Default: the queue's. */
  lease_seconds?: number;
  /** How long to wait for a first job when there is none; the timeout of the client must be longer. Default: 0. */
  wait_seconds?: number;
  /** The name of the worker, shown with the job. */
  worker?: string;
  /** A name for this claim, new for each one. A repeat with the same name gets the same leases while any of them lasts, so a lost answer loses no job. While the first request still waits, a repeat replaces it. */
  claim_id?: string;
  /** A session that you hold (`POST /sessions`). The leases end with it, when its connection is lost. Default: none. */
  session?: string;
  payload_format?: PayloadFormat;
}

/** How many jobs were changed. */
export interface Count {
  /** How many jobs. */
  count: number;
}

/** A database, with the queues that this caller may see. `counts` has their jobs, as the metrics count them; it is left out while the database is away, and until all were counted once. */
export interface Database {
  name: DatabaseName;
  /** `open`: new queues go there. `closed`: none do, unless a PUT chooses it. `away`: it does not answer; calls for its queues are 503. */
  state: 'open' | 'closed' | 'away';
  /** How many queues it has. Left out while it is away. */
  queues?: number;
  counts?: QueueCounts;
}

/** How a database is used. */
export interface DatabaseConfig {
  /** New queues go there. Those that are there stay. */
  accepts_queues: boolean;
}

/** The name of a database: `home`, or one of `DATABASE_URL_<NAME>`, in lower case. */
export type DatabaseName = string;

/** All databases of this Dibs. */
export interface Databases {
  /** The databases, `home` first. */
  databases: Database[];
}

/** The one reason why a job is not running. */
export interface Explanation {
  /** The id of the job. */
  id: string;
  state: JobState;
  /** Why a job is not running. `next_in_line`: it can be claimed, `ahead` others go before it. `delayed`: until its `run_at`, or on its way to another database. `backing_off`: after a failed attempt. `behind_in_group`: others of its group go before it. `group_paused`: its group waits for a resume. `queue_paused`, `max_leased_reached`, `rate_limited`: claims get none of the queue. `leased`: it is running. `dead`, `completed`, `cancelled`: it is finished. */
  code: 'next_in_line' | 'delayed' | 'backing_off' | 'behind_in_group' | 'group_paused' | 'queue_paused' | 'max_leased_reached' | 'rate_limited' | 'leased' | 'dead' | 'completed' | 'cancelled';
  /** The reason in words. */
  detail: string;
  /** How many jobs go before it, in its queue or in its group. Counted up to 10,000, and of up to 1,000 other fairness keys; `detail` says so. */
  ahead?: number;
  /** When the reason is over, as far as can be told. */
  until?: string;
  /** The job that is the head of its group. */
  blocking_job_id?: string;
  /** The `worker` of the claim that leased it. */
  worker?: string;
  /** The error of its last failure. */
  last_error?: string;
}

/** One of many extends. */
export interface ExtendItem {
  /** The id of the job. */
  id: string;
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** The lease runs this long from now. */
  lease_seconds: number;
  /** The progress of the work, shown with the job; up to 64 KiB. */
  progress?: unknown;
}

/** The work takes longer. */
export interface ExtendRequest {
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** The lease runs this long from now. */
  lease_seconds: number;
  /** The progress of the work, shown with the job; up to 64 KiB. */
  progress?: unknown;
}

/** The result of an extend. */
export interface Extended {
  /** The id of the job. */
  id: string;
  state: JobState;
  /** When the lease runs out now. */
  lease_expires_at: string;
  /** Somebody has cancelled the job. The worker should stop. */
  cancel_requested: boolean;
}

/** One field of a request, and what is wrong with it. */
export interface FieldProblem {
  /** The part of the request. */
  in: 'body' | 'query' | 'path' | 'header';
  /** A JSON pointer (RFC 6901) to the field within that part; empty for the whole. */
  path: string;
  /** What is wrong with it. */
  message: string;
}

/** A group of a queue. */
export interface GroupStatus {
  queue: QueueName;
  /** The name of the group. */
  group: string;
  /** It accepts jobs, but claims get none. */
  paused: boolean;
}

/** Alive or ready. */
export interface Health {
  /** Always `ok`: what is not well is a problem document. */
  status: 'ok';
  /** Of `/readyz`, where there are several databases: those that take no writes now. Left out while all do. */
  not_ready?: NotReady[];
}

/** Something that happened to a job. */
export interface HistoryEvent {
  /** When it happened. Null for a lease of which nobody noted when it began. */
  at: string | null;
  /** What happened. */
  event: 'enqueued' | 'leased' | 'acked' | 'nacked' | 'released' | 'rescued' | 'expired' | 'dead' | 'cancel_requested' | 'cancelled' | 'retried' | 'redriven' | 'changed' | 'moved';
  /** The batch that it was enqueued into. */
  batch?: string;
  /** The batch whose end has enqueued it. */
  follows?: string;
  /** The attempt that it was about. */
  attempt?: number;
  /** The leases that were given until then. */
  deliveries?: number;
  /** The worker whose lease it was about. */
  worker?: string;
  /** When that lease began. */
  leased_at?: string;
  /** Who did it: the name of the access key or token. Left out where nobody needs one, for an `acked`, and for what Dibs does itself, such as `rescued`. */
  by?: string;
  /** The error, up to 2000 characters of it. */
  error?: string;
  /** When the job was to run next. */
  run_at?: string;
}

/** A job and its state. */
export interface Job {
  /** Opaque; ids of later jobs sort higher. */
  id: string;
  queue: QueueName;
  state: JobState;
  headers: JobHeaders;
  /** Higher first, from -100 to 100. */
  priority: number;
  /** How many attempts are charged: claims, less releases. */
  attempt: number;
  /** How many attempts it has before it is dead. */
  max_attempts: number;
  /** How many leases the job has had. It only grows, and so serves as a fencing token in the writes of a worker. */
  deliveries: number;
  /** Its jobs go one at a time, in order of arrival. */
  group: string | null;
  /** Within one priority, the keys of a queue take turns. */
  fairness_key: string | null;
  /** No other unfinished job in the queue has it. */
  unique_key: string | null;
  /** The id of the batch that it belongs to. */
  batch: string | null;
  /** When the job becomes ready, or became so last. */
  run_at: string;
  /** When it was enqueued. */
  created_at: string;
  /** When the lease runs out, unless it is settled or extended before. */
  lease_expires_at: string | null;
  /** Who has it, or completed it: the `worker` of the claim. */
  worker: string | null;
  /** The error of its last failure; 16 KiB at most. */
  last_error: string | null;
  /** What its worker last reported by `extend`. */
  progress: unknown;
  /** What its worker returned by `ack`. */
  result: unknown;
  /** When it was completed or cancelled, or became dead. */
  finished_at: string | null;
  /** As it was sent; in `GET /jobs/{id}`, and in lists with `include=payload`. */
  payload?: unknown;
  /** The JSON text of the payload, in place of `payload`: with `payload_format` `text`. */
  payload_text?: string;
  /** The beginning of the JSON text of the payload; in lists with `include=payload_preview`. */
  payload_preview?: string;
  /** After a nack that had `enqueue`: the jobs inserted with it; none unless it made the job dead. */
  enqueued?: Job[];
  /** The id of the job as which it went to the `dead_letter_queue` of its queue, when it was dead. This one is `cancelled` then. */
  moved_to?: string;
  /** In the answer of an enqueue: this job has the `unique_key` already, and nothing was enqueued. Once it is gone, while its window runs, it is shown as it was enqueued, but `completed`. */
  deduplicated?: boolean;
  /** Beside `deduplicated`, when the enqueue said `on_duplicate` `replace`: whether this job waits, and is now as the enqueue asked. False: it is leased, or finished. */
  replaced?: boolean;
}

/** What to change of a job. What is left out stays as it is. */
export interface JobChange {
  /** Any JSON value, in place of the one before. */
  payload?: unknown;
  headers?: JobHeaders;
  /** Higher first. */
  priority?: number;
  /** When the job becomes ready (RFC 3339, with an offset), within 366 days; the past means now. It changes nothing of a dead job, which waits to be retried. */
  run_at?: string;
  /** How many attempts it has; more than a waiting job has had so far. */
  max_attempts?: number;
  /** It expires if nobody claims it within this time. */
  expires_in_seconds?: number;
}

/** Which jobs of a queue: those that match all of it. */
export interface JobFilter {
  /** Jobs in which states. `cancel`: any but `completed` and `cancelled`. `retry`: `dead`, `scheduled`. `delete`: any but `leased`. `move`: `scheduled`, `ready`, `blocked`, `dead`. */
  states: JobState[];
  /** The group that they are of. */
  group?: string;
  /** Only those with this `fairness_key`. */
  fairness_key?: string;
  /** Only those that this worker has, or has completed. */
  worker?: string;
  /** Only those whose `last_error` contains this, letter by letter. */
  error_contains?: string;
  /** Only those that were enqueued at this time or later. */
  created_after?: string;
  /** Only those that were enqueued before this time. */
  created_before?: string;
}

/** Short strings for metadata, handed to the worker as they are: up to 32. A job that is enqueued without a `traceparent` gets that of its request, if it has one. */
export type JobHeaders = Record<string, string>;

/** What happened to a job. */
export interface JobHistory {
  /** The id of the job. */
  id: string;
  queue: QueueName;
  /** What happened, oldest first. */
  events: HistoryEvent[];
  /** There were more than 50 events: the older ones were dropped. */
  truncated: boolean;
}

/** Jobs, in the order of the request. */
export interface JobList {
  /** The jobs. */
  jobs: Job[];
}

/** A page of jobs. */
export interface JobPage {
  /** The jobs. */
  jobs: Job[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
  /** In a search of one queue: how many jobs this request looked at. */
  looked_at?: number;
  /** In a search of one queue: when the last of these was enqueued. */
  looked_to?: string | null;
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** What happens to jobs in a second, on average over the last minute, over all replicas. */
export interface JobRates {
  /** Jobs enqueued. */
  enqueued: number;
  /** Enqueues that were answered with the job that had their `unique_key`. */
  deduplicated: number;
  /** Leases given. */
  claimed: number;
  /** Jobs completed. */
  acked: number;
  /** Attempts that a worker said had failed. */
  nacked: number;
  /** Leases that were released. */
  released: number;
  /** Leases that ran out. */
  rescued: number;
  /** Jobs whose own time was over before anybody claimed them. */
  expired: number;
  /** Jobs that became dead. */
  dead: number;
}

/** A job to enqueue. `queue` is `default` when left out. */
export interface JobSpec {
  queue?: QueueName;
  /** Any JSON value; comes back exactly as it was sent, byte for byte. Default: null. */
  payload?: unknown;
  headers?: JobHeaders;
  /** Higher first. Default: 0. */
  priority?: number;
  /** How long from now the job becomes ready; not beside `run_at`. Default: 0. */
  delay_seconds?: number;
  /** When the job becomes ready (RFC 3339, with an offset), within 366 days; the past means now. */
  run_at?: string;
  /** How many attempts it has. Default: the queue's. */
  max_attempts?: number;
  backoff?: Backoff;
  /** Its tenant or the like: within one priority, the keys of a queue take turns; jobs without one count as one key more. Default: none. */
  fairness_key?: string;
  /** At most one unfinished job in the queue has this key. While a job has it, an enqueue is answered with that job and `deduplicated`, and adds nothing. */
  unique_key?: string;
  /** How long the key also stays taken after the enqueue, finished or not; only with a `unique_key`. Default: 0. */
  unique_for_seconds?: number;
  on_duplicate?: OnDuplicate;
  unique_until?: UniqueUntil;
  /** Jobs of one group in one queue run in order of arrival, one at a time: the next one can be claimed when the one before it is completed, dead or cancelled. Default: none. */
  group?: string;
  /** The id of the batch that it belongs to. The batch is open, or the job is added by the ack or nack of one of its jobs. A job that is `deduplicated` joins no batch. Not in schedules. */
  batch?: string;
  /** How long from now it may be claimed, a delay included. One that waits then becomes `dead` with `last_error` "expired". Default: for ever. */
  expires_in_seconds?: number;
}

/** 1 to 1000 jobs, enqueued all or none. */
export interface JobSpecList {
  /** The jobs to enqueue. */
  jobs: JobSpec[];
}

/** `scheduled`: `run_at` is in the future. `ready`: can be claimed. `blocked`: waits for the job before it in its group. `leased`: with a worker until `lease_expires_at`. `completed`, `cancelled`: finished, visible while the queue's `retention_seconds` last. `dead`: out of attempts, refused by its worker or expired, kept for redrive. */
export type JobState = 'scheduled' | 'ready' | 'blocked' | 'leased' | 'completed' | 'cancelled' | 'dead';

/** A page of access keys. */
export interface KeyPage {
  /** The access keys. */
  keys: AccessKey[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
}

/** How to rotate an access key. */
export interface KeyRotation {
  /** How long the old key stays valid beside the new one. Default: 3600. 0: it is refused at once. */
  overlap_seconds?: number;
}

/** A job with its lease. */
export interface LeasedJob {
  /** Opaque; ids of later jobs sort higher. */
  id: string;
  queue: QueueName;
  state: JobState;
  headers: JobHeaders;
  /** Higher first, from -100 to 100. */
  priority: number;
  /** How many attempts are charged: claims, less releases. */
  attempt: number;
  /** How many attempts it has before it is dead. */
  max_attempts: number;
  /** How many leases the job has had. It only grows, and so serves as a fencing token in the writes of a worker. */
  deliveries: number;
  /** Its jobs go one at a time, in order of arrival. */
  group: string | null;
  /** Within one priority, the keys of a queue take turns. */
  fairness_key: string | null;
  /** No other unfinished job in the queue has it. */
  unique_key: string | null;
  /** The id of the batch that it belongs to. */
  batch: string | null;
  /** When the job becomes ready, or became so last. */
  run_at: string;
  /** When it was enqueued. */
  created_at: string;
  /** When the lease runs out, unless settled or extended before. */
  lease_expires_at: string;
  /** Who has it, or completed it: the `worker` of the claim. */
  worker: string | null;
  /** The error of its last failure; 16 KiB at most. */
  last_error: string | null;
  /** What its worker last reported by `extend`. */
  progress: unknown;
  /** What its worker returned by `ack`. */
  result: unknown;
  /** When it was completed or cancelled, or became dead. */
  finished_at: string | null;
  /** As it was sent, byte for byte. Only `payload_format` `text` leaves it out. */
  payload?: unknown;
  /** The JSON text of the payload, in place of `payload`: with `payload_format` `text`. */
  payload_text?: string;
  /** Proves this lease: acks, nacks, releases and extends need it. */
  lease_token: string;
  /** How long the claim gave the lease for. A repeat with the same `claim_id` is told the same, whatever it asks for, though some of that time is over. A worker needs no clock of its own. */
  lease_seconds: number;
}

/** Jobs, in the order of the queue. */
export interface LeasedJobList {
  /** The jobs, each with its lease. */
  jobs: LeasedJob[];
}

/** An access key that was just made, with the key itself. */
export interface MadeKey {
  /** Opaque. The key contains it, too. */
  id: string;
  /** Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name. */
  name: string;
  /** `produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything. */
  scopes: ('produce' | 'consume' | 'read' | 'admin')[];
  /** Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all. */
  queues: string[];
  /** When it was created. */
  created_at: string;
  /** When it ends; null: never. */
  expires_at: string | null;
  /** When it was revoked; null: it is not. It is shown for 7 days more. */
  revoked_at: string | null;
  /** The minute of its last use; null: it was not used yet. */
  last_used_at: string | null;
  /** Until when the key from before the last rotation stays valid. */
  old_key_expires_at: string | null;
  /** The key. It is shown this once: Dibs keeps only its hash. */
  key: string;
}

/** Metrics in the text format of Prometheus or of OpenMetrics. */
export type MetricsText = string;

/** One of many nacks. */
export interface NackItem {
  /** The id of the job. */
  id: string;
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** What went wrong; its first 16 KiB are kept as `last_error`. */
  error?: string;
  /** The delay before the retry. Default: by its backoff. */
  delay_seconds?: number;
  /** false: the job is dead at once, whatever attempts are left. Default: true. */
  retry?: boolean;
  /** Jobs that compensate for this one, inserted if and only if this nack makes it dead. */
  enqueue?: JobSpec[];
}

/** The job failed. */
export interface NackRequest {
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** What went wrong; its first 16 KiB are kept as `last_error`. */
  error?: string;
  /** The delay before the retry. Default: by its backoff. */
  delay_seconds?: number;
  /** false: the job is dead at once, whatever attempts are left. Default: true. */
  retry?: boolean;
  /** Jobs that compensate for this one, inserted if and only if this nack makes it dead. */
  enqueue?: JobSpec[];
}

/** An access key to create. */
export interface NewKey {
  /** Who uses the key: 1 to 128 printable characters of ASCII. No two keys that are not revoked have the same name. */
  name: string;
  /** `produce`: enqueue. `consume`: claim and settle. `read`: look at jobs, queues and schedules. `admin`: everything. */
  scopes: ('produce' | 'consume' | 'read' | 'admin')[];
  /** Queue patterns: a name (`mail`), the beginning of names (`mail.*`), or `*` for all. Default: `["*"]`. */
  queues?: string[];
  /** When it ends, within 366 days. Default: never. */
  expires_at?: string;
  /** The same, counted from now. */
  expires_in_seconds?: number;
}

/** A database that takes no writes now. */
export interface NotReady {
  name: DatabaseName;
  /** Why it takes no writes. */
  reason: string;
}

/** `replace`: a job that has the `unique_key` and waits gets the `payload`, `headers`, `priority`, time, `expires_in_seconds` and `max_attempts` of this one, and keeps its id. One that is leased stays as it is. `keep`: it stays as it is. Only with a `unique_key`. Default: `keep`. */
export type OnDuplicate = 'keep' | 'replace';

/** An operation on many jobs, with its progress. */
export interface Operation {
  /** Opaque. Newer operations have larger ids. */
  id: string;
  /** What it does to each job. `relocate`: the whole queue goes to the database `to`. */
  verb: 'cancel' | 'retry' | 'delete' | 'move' | 'relocate';
  queue: QueueName;
  /** The queue that a move goes to, or the database that a relocation goes to. */
  to: string | null;
  filter: JobFilter;
  /** It only counts. */
  dry_run: boolean;
  /** `running`: it counts, and then it works. `done`. `cancelled`: stopped; what it did stays done. `failed`: see `error`. */
  state: 'running' | 'done' | 'cancelled' | 'failed';
  /** It has counted all jobs that match. Until then `matched` grows. */
  counted: boolean;
  /** How many jobs matched at the call. */
  matched: number;
  /** How many of them are done so far. */
  done: number;
  /** How many were skipped, because they had changed meanwhile, or another job has their `unique_key`, or the queue they should move to is full. Once `done`, it is all that matched and is not done. */
  skipped: number;
  /** Why it failed. */
  error: string | null;
  /** For how long calls for the queue of a relocation will wait, at most. Null until its jobs are counted, and for other verbs. */
  hold_seconds: number | null;
  /** When it was started. It touches no job that came, or came back, later. */
  created_at: string;
  /** When it ended. */
  finished_at: string | null;
}

/** A page of operations. */
export interface OperationPage {
  /** The operations, newest first. */
  operations: Operation[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** What to do to which jobs. */
export interface OperationRequest {
  /** What to do to each job, as the call for a single job does it. `move`: to the queue `to`. */
  verb: 'cancel' | 'retry' | 'delete' | 'move';
  queue: QueueName;
  to?: QueueName;
  filter: JobFilter;
  /** Count only. Default: false. */
  dry_run?: boolean;
}

/** All queues at a glance. */
export interface Overview {
  /** The version of this replica. */
  version: string;
  /** Where to look at a trace: it has `{trace_id}`. */
  trace_url: string | null;
  caller: OverviewCaller;
  /** False while some queues were not counted yet. */
  complete: boolean;
  /** How many queues have jobs, metrics of their own, or are paused. */
  total: number;
  /** How many of them have trouble. */
  troubled: number;
  counts: QueueCounts;
  per_second: JobRates;
  /** How long the longest waiting ready job has been ready. */
  oldest_ready_age_seconds: number | null;
  /** Seconds until the queue is empty at this rate; null while it does not shrink, or is paused. The sum is without paused queues. */
  drain_seconds: number | null;
  /** Those with trouble first, then the busiest. */
  queues: QueueOverview[];
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** Who asks, and what it may do. */
export interface OverviewCaller {
  /** The name of the access key or token. */
  name: string;
  /** False where no key is needed. */
  needs_key: boolean;
  /** Its scopes. With `admin` it has all of them. */
  scopes: string[];
  /** Its queue patterns. */
  queues: string[];
}

/** `json`: each payload as it was sent, in `payload`. `text`: its JSON text as a string, in `payload_text`. A client then decodes each payload by itself: one that it cannot read does not keep it from the others. Default: `json`. */
export type PayloadFormat = 'json' | 'text';

/** Why a request was not carried out: problem details for HTTP APIs (RFC 9457). */
export interface Problem {
  /** A URI for the kind of problem (RFC 9457); follows `code`. */
  type: string;
  /** The kind of problem, in words. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** What was wrong this time. */
  detail: string;
  /** The kind of problem, for programs; stable. */
  code: string;
  /** With `invalid_request`: each field that is wrong. */
  errors?: FieldProblem[];
  /** With 503, of a call that changes something. `not_done`: nothing was changed, it is safe to repeat the call as it is. `unknown`: it may have been done, or may still be. Repeat it with an `Idempotency-Key` or `claim_id`, or check first. */
  outcome?: 'not_done' | 'unknown';
}

/** Which jobs to delete. */
export interface PurgeRequest {
  /** Jobs in which states to delete. */
  states: ('scheduled' | 'ready' | 'blocked' | 'completed' | 'cancelled' | 'dead')[];
}

/** A queue, its configuration and how many jobs it has. `database` tells where it is; it is left out where there is one. */
export interface Queue {
  name: QueueName;
  /** It accepts jobs, but claims get none. */
  paused: boolean;
  config: QueueConfig;
  counts: QueueCounts;
  /** How long the longest waiting ready job has been ready; null when there is none. */
  oldest_ready_age_seconds: number | null;
  /** When it was created. */
  created_at: string;
  database?: DatabaseName;
  /** The groups that are paused. It is left out where there are none, and in lists. */
  paused_groups?: string[];
}

/** What is left out takes its default; a limit that is left out is none. */
export interface QueueConfig {
  /** The lease (visibility timeout) of a claim that names none. Default: 30. */
  lease_seconds?: number;
  /** The max_attempts of a job that names none. Default: 5. */
  max_attempts?: number;
  backoff?: Backoff;
  /** How long completed and cancelled jobs stay visible. Default: 0, not at all. */
  retention_seconds?: number;
  /** How long dead jobs are kept for redrive. Default: 1209600, 14 days. */
  dead_retention_seconds?: number;
  /** A job that has been ready for longer is an alert: the workers do not keep up, or nobody claims. Nothing is done to the job. Default: 300. */
  alert_after_seconds?: number;
  /** The concurrency limit: how many jobs may be leased at once, over all replicas. A lease counts until it is settled or rescued. Default: no limit. */
  max_leased?: number;
  rate_limit?: RateLimit;
  /** With so many ready and blocked jobs, enqueues are refused (429 `queue_full`). Default: no limit. */
  max_ready?: number;
  dead_letter_queue?: QueueName;
  /** How many jobs of one `group` may run at once, over all replicas. They begin in the order in which they came. A job that rests before its next attempt is one of them. When it is lowered, no further job of a group begins while more than that run. Default: 1. */
  group_concurrency?: number;
  /** How many jobs of one `group` a claim may get, in their order. It gets no more than may run at once: see `group_concurrency`. Default: 1. */
  group_batches?: number;
  database?: DatabaseName;
}

/** Jobs by state, as they are now: of a queue of up to 100,000 jobs that is asked for alone, and of the smallest queues of a page, up to 10,000 jobs together. The counts of larger ones are up to 20 times as old as counting them takes. On the first request, they may be those of the metrics, up to a minute old. */
export interface QueueCounts {
  /** Jobs that are scheduled. */
  scheduled: number;
  /** Jobs that are ready. */
  ready: number;
  /** Jobs that are blocked. */
  blocked: number;
  /** Jobs that are leased. */
  leased: number;
  /** Jobs that are completed. */
  completed: number;
  /** Jobs that are cancelled. */
  cancelled: number;
  /** Jobs that are dead. */
  dead: number;
}

/** Why some jobs are dead. */
export interface QueueError {
  /** The first line of `last_error`, with a `#` for each number and id. Null: the jobs have no error. */
  error: string | null;
  /** How many of the jobs that were looked at. */
  count: number;
  /** Finds these jobs in `GET /jobs` and `POST /operations`. Where errors are alike, other jobs may have it, too: count first (`dry_run`). Null: no text finds them. */
  error_contains: string | null;
  /** The newest of these jobs. */
  newest_job_id: string;
  /** When the first of them became dead. */
  first_at: string;
  /** When the last of them became dead. */
  last_at: string;
}

/** Why jobs of a queue are dead. */
export interface QueueErrors {
  queue: QueueName;
  /** How many dead jobs were looked at, the newest ones. */
  looked_at: number;
  /** All dead jobs were looked at, and all their errors are here. */
  complete: boolean;
  /** Those of most jobs first. */
  errors: QueueError[];
}

/** What a claim from a queue would get now, and if nothing, why. */
export interface QueueExplanation {
  queue: QueueName;
  /** What a claim would get. `ready`: a job. With every other code it gets nothing. `empty`: the queue has no unfinished job. `paused`: the queue is paused. `max_leased_reached`, `rate_limited`: a job is ready, and a limit of the queue keeps it back. `all_leased`: every unfinished job is with a worker. `all_delayed`: the next job is scheduled. `all_blocked`: every waiting job is behind another job of its group. */
  code: 'ready' | 'empty' | 'paused' | 'max_leased_reached' | 'rate_limited' | 'all_leased' | 'all_delayed' | 'all_blocked';
  /** The reason in words. */
  detail: string;
  /** When the reason is over, as far as can be told. */
  until?: string;
  /** The job that the reason is about: the next one to be claimed, the first one to be ready, a blocked one, or the one whose lease runs out first. Left out where fairness keys take turns. */
  job_id?: string;
}

/** The name of a queue: 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
export type QueueName = string;

/** A queue at a glance. `counts` is left out until it was counted; `per_second` is left out for queues without metrics of their own. `database` tells where it is; it is left out where there is one. */
export interface QueueOverview {
  name: QueueName;
  database?: DatabaseName;
  /** It accepts jobs, but claims get none. */
  paused: boolean;
  /** The worst first. `dead_growing`: Jobs became dead in the last minute. `failing`: Most leases end in a failure. `nobody_claims`: A job has been ready for a minute, and nothing was claimed. `oldest_too_old`: A job has been ready for longer than alert_after_seconds. `full`: max_ready is reached: enqueues are refused. `max_leased_reached`: max_leased is reached: claims get no jobs. `paused`: Claims get no jobs. */
  troubles: ('dead_growing' | 'failing' | 'nobody_claims' | 'oldest_too_old' | 'full' | 'max_leased_reached' | 'paused')[];
  counts?: QueueCounts;
  /** How old the counts are. */
  counted_age_seconds: number | null;
  /** How long the longest waiting ready job has been ready. */
  oldest_ready_age_seconds: number | null;
  per_second?: JobRates;
  /** Seconds until the queue is empty at this rate; null while it does not shrink, or is paused. The sum is without paused queues. */
  drain_seconds: number | null;
}

/** A page of queues. */
export interface QueuePage {
  /** The queues. */
  queues: Queue[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** A queue over the last minutes: a number for each time of `at`. */
export interface QueueSamples {
  name: QueueName;
  /** Ready jobs. */
  ready: (number | null)[];
  /** Ready, blocked and scheduled jobs. */
  waiting: (number | null)[];
  /** Leased jobs. */
  leased: (number | null)[];
  /** Dead jobs. */
  dead: (number | null)[];
  /** How long the longest waiting ready job had been ready. */
  oldest_ready_age_seconds: (number | null)[];
  /** Jobs enqueued, per second. */
  enqueued: (number | null)[];
  /** Jobs completed, per second. */
  acked: (number | null)[];
  /** Attempts that failed, per second. */
  failed: (number | null)[];
  /** Jobs that became dead, per second. */
  became_dead: (number | null)[];
}

/** In no window of that length are more jobs claimed, over all replicas. A job that comes back counts again. */
export interface RateLimit {
  /** How many jobs may be claimed. */
  jobs: number;
  /** The length of the window. */
  per_seconds: number;
}

/** Which dead jobs to make ready again. */
export interface RedriveRequest {
  /** At most this many, oldest first. Default: all. */
  limit?: number;
  /** Only those whose `last_error` contains this. */
  error_contains?: string;
  /** In place of dead jobs, the dead letters of this queue that nobody works on: each goes back to the queue from which it came, if that has this `dead_letter_queue` now. `error_contains` looks at the header `dibs-dead-error`. Default: false. */
  home?: boolean;
}

/** One of many releases. */
export interface ReleaseItem {
  /** The id of the job. */
  id: string;
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** How long from now the job becomes ready again. Default: 0. */
  delay_seconds?: number;
}

/** The job is given back unworked. */
export interface ReleaseRequest {
  /** The `lease_token` from the claim. */
  lease_token: string;
  /** How long from now the job becomes ready again. Default: 0. */
  delay_seconds?: number;
}

/** The database that a queue goes to. */
export interface RelocateRequest {
  to: DatabaseName;
  /** Count only. Default: false. */
  dry_run?: boolean;
}

/** A number for each time of `at`; null where it is not known. */
export interface SampleSeries {
  /** Ready jobs. */
  ready: (number | null)[];
  /** Ready, blocked and scheduled jobs. */
  waiting: (number | null)[];
  /** Leased jobs. */
  leased: (number | null)[];
  /** Dead jobs. */
  dead: (number | null)[];
  /** How long the longest waiting ready job had been ready. */
  oldest_ready_age_seconds: (number | null)[];
  /** Jobs enqueued, per second. */
  enqueued: (number | null)[];
  /** Jobs completed, per second. */
  acked: (number | null)[];
  /** Attempts that failed, per second. */
  failed: (number | null)[];
  /** Jobs that became dead, per second. */
  became_dead: (number | null)[];
}

/** The last minutes of the busiest queues. `all` has all queues together that the caller may see; it is left out with `queue`. */
export interface Samples {
  /** At most 120 times, the newest last. */
  at: string[];
  all?: SampleSeries;
  /** The busiest queues. */
  queues: QueueSamples[];
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** A schedule: at each tick of its cron, one job goes into its queue. */
export interface Schedule {
  name: ScheduleName;
  /** When it ticks: five fields (minute, hour, day of month, month, day of week), or six with the second first. Each takes `*`, numbers, names (`JAN`, `MON`), lists `1,15`, ranges `1-5` and steps `0-59/10`; a day of the month also `L` (the last one) and `15W` (the weekday next to it), a day of the week `MON#1` (the first in the month) and `FRI#L` (the last). A day of the month and one of the week are two ways to tick. Both must hold where one of them begins with `*`, also with a step, or that of the week with `+`. */
  cron: string;
  /** The time zone whose clocks it goes by, as the IANA database names it. */
  timezone: string;
  /** It does not tick. */
  paused: boolean;
  job: JobSpec;
  /** Its next tick; null while it is paused. */
  next_run_at: string | null;
  /** Its last tick; null before the first. A manual trigger does not count. */
  last_run_at: string | null;
  /** Why its job was refused at its last tick, for example because the queue is full. Null when the tick was taken. */
  last_error: string | null;
  /** When the tick that was refused is tried again. Null when none was. */
  retry_at: string | null;
}

/** The name of a schedule: 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
export type ScheduleName = string;

/** A page of schedules. */
export interface SchedulePage {
  /** The schedules. */
  schedules: Schedule[];
  /** For the next page; null on the last. */
  next_cursor: string | null;
}

/** A schedule to create or replace. Its job is what `POST /jobs` takes, without `run_at`; `delay_seconds` counts from the tick on. The times, `name` and `last_error` are ignored: so a schedule that was read can be put back. */
export interface ScheduleSpec {
  /** When it ticks: five fields (minute, hour, day of month, month, day of week), or six with the second first. Each takes `*`, numbers, names (`JAN`, `MON`), lists `1,15`, ranges `1-5` and steps `0-59/10`; a day of the month also `L` (the last one) and `15W` (the weekday next to it), a day of the week `MON#1` (the first in the month) and `FRI#L` (the last). A day of the month and one of the week are two ways to tick. Both must hold where one of them begins with `*`, also with a step, or that of the week with `+`. */
  cron: string;
  /** The time zone whose clocks it goes by, as the IANA database names it. Default: UTC. */
  timezone?: string;
  /** It does not tick. Ticks that it misses are not made up for. Default: false. */
  paused?: boolean;
  job: JobSpec;
  name?: ScheduleName;
  /** Ignored: a schedule that was read can be put back as it is. */
  next_run_at?: string | null;
  /** Ignored: a schedule that was read can be put back as it is. */
  last_run_at?: string | null;
  /** Ignored: a schedule that was read can be put back as it is. */
  last_error?: string | null;
  /** Ignored: a schedule that was read can be put back as it is. */
  retry_at?: string | null;
}

/** A line of the answer. The first one has the id. Then there is an empty object every 3 s. The last one has `lost`. */
export interface SessionLine {
  /** In the first line: the id for claims. */
  session?: string;
  /** In the first line: how long the session can be resumed. */
  resume_seconds?: number;
  lost?: SessionLoss;
}

/** Why this connection holds the session no longer. `resumed`: another connection has it. `session_ended`: it was not renewed in time. `stopping`: this replica stops; resume the session. `revoked`: the access key may do nothing any more. */
export type SessionLoss = 'resumed' | 'session_ended' | 'stopping' | 'revoked';

/** A session to open, or to resume. */
export interface SessionRequest {
  /** The session to resume, also at another replica. Default: a new one. */
  session?: string;
  /** How long after the end of its connection the session can be resumed. Then it ends. Default: 2, and for a resumed session what it had. */
  resume_seconds?: number;
}

/** Up to 1000 items in all, each the body of the single call plus `id`. With `claim`, the answer also has the next jobs. */
export interface SettleRequest {
  /** Jobs that are done. */
  acks?: AckItem[];
  /** Jobs that failed. */
  nacks?: NackItem[];
  /** Jobs to give back unworked. */
  releases?: ReleaseItem[];
  /** Leases to extend. */
  extends?: ExtendItem[];
  claim?: ClaimRequest;
}

/** The result of one item. The `code` of its `problem` is one with which the single call is refused. */
export interface SettleResult {
  /** The id of the job. */
  id: string;
  /** The single call's HTTP status. */
  status: number;
  state?: JobState;
  /** With a nack or a release: when the job becomes ready again. */
  run_at?: string;
  /** With an extend: when the lease runs out now. */
  lease_expires_at?: string;
  /** With an extend: somebody has cancelled the job. The worker should stop. */
  cancel_requested?: boolean;
  /** With an ack, and with a nack that had `enqueue`: the jobs inserted with it. */
  enqueued?: Job[];
  problem?: Problem;
}

/** One result per item, in the order of the request. `problem` says why the claim was refused, after the items were settled. */
export interface SettleResults {
  /** Of `acks`. */
  acks: SettleResult[];
  /** Of `nacks`. */
  nacks: SettleResult[];
  /** Of `releases`. */
  releases: SettleResult[];
  /** Of `extends`. */
  extends: SettleResult[];
  /** With `claim`: the jobs that it leased; empty when there is none. */
  jobs?: LeasedJob[];
  problem?: Problem;
}

/** How long a job holds its `unique_key`. `claimed`: a claim frees it, and `unique_key` is null then. A job that comes back holds it again within a second, unless another job has taken it: then it stays without. Only with a `unique_key`. Default: `finished`. */
export type UniqueUntil = 'finished' | 'claimed';

/** Which Dibs answers. */
export interface Version {
  /** The version of Dibs. */
  version: string;
  /** The version of Node.js that it runs on. */
  node: string;
}

/** A worker with jobs. */
export interface WorkerNow {
  /** Its name. Null: all those that gave none. */
  worker: string | null;
  /** How many jobs it has. */
  leased: number;
  /** Their queues. */
  queues: QueueName[];
  /** When the oldest of its leases began. */
  since: string | null;
  /** When the first of its leases runs out. */
  next_lease_expires_at: string;
}

/** Who works now. */
export interface Workers {
  /** Those with most leases first. */
  workers: WorkerNow[];
  /** How many there are. */
  total: number;
  /** All leases were looked at. */
  complete: boolean;
  /** The databases that do not answer: this is without what they have. Left out while all answer. */
  away?: DatabaseName[];
}

/** Is the process alive? */
export const getHealth = (
  client: Caller,
  options: CallOptions = {},
): Promise<Health> =>
  client.request({ method: 'GET', path: '/healthz' }, options);

/** Does the database answer, and is it migrated? */
export const getReadiness = (
  client: Caller,
  options: CallOptions = {},
): Promise<Health> =>
  client.request({ method: 'GET', path: '/readyz' }, options);

/** The versions of this Dibs */
export const getVersion = (
  client: Caller,
  options: CallOptions = {},
): Promise<Version> =>
  client.request({ method: 'GET', path: '/version' }, options);

/** Metrics for Prometheus */
export const getMetrics = (
  client: Caller,
  options: CallOptions = {},
): Promise<string> =>
  client.request({ method: 'GET', path: '/metrics', asText: true }, options);

/** Enqueue a job */
export const enqueueJob = (
  client: Caller,
  body: JobSpec,
  options: CallOptions & {
    /** Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. Bodies are equal when they are the same JSON, with the members of objects in any order and white space anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation marks included. */
    idempotency_key?: string;
    /** Preferences (RFC 7240). `wait=20` asks to be answered with the finished job, if it finishes within so many seconds (whole ones, up to 60); the timeout of the client must be longer. Others are ignored. */
    prefer?: string;
  } = {},
): Promise<Job> =>
  client.request({ method: 'POST', path: '/jobs', body, headers: { 'Idempotency-Key': options.idempotency_key, Prefer: options.prefer } }, options);

/** List jobs, newest first */
export const listJobs = (
  client: Caller,
  options: CallOptions & {
    queue?: QueueName;
    state?: JobState;
    /** The group that they are of. */
    group?: string;
    /** Only those with this `fairness_key`. */
    fairness_key?: string;
    /** Only those that this worker has, or has completed. */
    worker?: string;
    /** Only those whose `last_error` contains this, letter by letter. */
    error_contains?: string;
    /** Only those that were enqueued at this time or later. */
    created_after?: string;
    /** Only those that were enqueued before this time. */
    created_before?: string;
    /** Only those with this `unique_key`. */
    unique_key?: string;
    /** Only those of this batch, by its id. Beside it, only `queue` and `state` may filter. */
    batch?: string;
    /** Only those whose payload, as it was sent, contains this, letter by letter. It needs a `queue`. */
    payload_contains?: string;
    /** What else to show. `payload_preview`: the first 200 characters of each payload. */
    include?: 'payload' | 'payload_preview';
    /** By when they were enqueued. */
    order?: 'newest' | 'oldest';
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
    payload_format?: PayloadFormat;
  } = {},
): Promise<JobPage> =>
  client.request({ method: 'GET', path: '/jobs', query: { queue: options.queue, state: options.state, group: options.group, fairness_key: options.fairness_key, worker: options.worker, error_contains: options.error_contains, created_after: options.created_after, created_before: options.created_before, unique_key: options.unique_key, batch: options.batch, payload_contains: options.payload_contains, include: options.include, order: options.order, limit: options.limit, cursor: options.cursor, payload_format: options.payload_format } }, options);

/** Enqueue up to 1000 jobs, all or none */
export const enqueueJobs = (
  client: Caller,
  body: JobSpecList,
  options: CallOptions & {
    /** Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. Bodies are equal when they are the same JSON, with the members of objects in any order and white space anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation marks included. */
    idempotency_key?: string;
  } = {},
): Promise<JobList> =>
  client.request({ method: 'POST', path: '/jobs/batch', body, headers: { 'Idempotency-Key': options.idempotency_key } }, options);

/** Get a job, or wait until it is finished */
export const getJob = (
  client: Caller,
  id: string,
  options: CallOptions & {
    /** How long to wait for the end of the job; the timeout of the client must be longer. */
    wait_seconds?: number;
    payload_format?: PayloadFormat;
  } = {},
): Promise<Job> =>
  client.request({ method: 'GET', path: `/jobs/${part(id)}`, query: { wait_seconds: options.wait_seconds, payload_format: options.payload_format } }, options);

/** Cancel a job */
export const cancelJob = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Job> =>
  client.request({ method: 'DELETE', path: `/jobs/${part(id)}` }, options);

/** Change a job that waits or is dead */
export const changeJob = (
  client: Caller,
  id: string,
  body: JobChange,
  options: CallOptions = {},
): Promise<Job> =>
  client.request({ method: 'PATCH', path: `/jobs/${part(id)}`, body }, options);

/** Make a dead or scheduled job ready */
export const retryJob = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Job> =>
  client.request({ method: 'POST', path: `/jobs/${part(id)}/retry` }, options);

/** What happened to my job? */
export const getJobHistory = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<JobHistory> =>
  client.request({ method: 'GET', path: `/jobs/${part(id)}/history` }, options);

/** Why is my job not running? */
export const explainJob = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Explanation> =>
  client.request({ method: 'GET', path: `/jobs/${part(id)}/explain` }, options);

/** Why does my claim get nothing? */
export const explainQueue = (
  client: Caller,
  queue: QueueName,
  options: CallOptions = {},
): Promise<QueueExplanation> =>
  client.request({ method: 'GET', path: `/queues/${part(queue)}/explain` }, options);

/** Why are jobs dead? */
export const getQueueErrors = (
  client: Caller,
  queue: QueueName,
  options: CallOptions = {},
): Promise<QueueErrors> =>
  client.request({ method: 'GET', path: `/queues/${part(queue)}/errors` }, options);

/** Who works now? */
export const listWorkers = (
  client: Caller,
  options: CallOptions & {
    queue?: QueueName;
  } = {},
): Promise<Workers> =>
  client.request({ method: 'GET', path: '/workers', query: { queue: options.queue } }, options);

/** Lease ready jobs */
export const claimJobs = (
  client: Caller,
  body?: ClaimRequest,
  options: CallOptions = {},
): Promise<LeasedJobList> =>
  client.request({ method: 'POST', path: '/jobs/claim', body }, options);

/** Complete a job: its work is done */
export const ackJob = (
  client: Caller,
  id: string,
  body: AckRequest,
  options: CallOptions = {},
): Promise<Acked> =>
  client.request({ method: 'POST', path: `/jobs/${part(id)}/ack`, body }, options);

/** Fail an attempt: the job is retried after its backoff, or is dead */
export const nackJob = (
  client: Caller,
  id: string,
  body: NackRequest,
  options: CallOptions = {},
): Promise<Job> =>
  client.request({ method: 'POST', path: `/jobs/${part(id)}/nack`, body }, options);

/** Release a job: no attempt is charged */
export const releaseJob = (
  client: Caller,
  id: string,
  body: ReleaseRequest,
  options: CallOptions = {},
): Promise<Job> =>
  client.request({ method: 'POST', path: `/jobs/${part(id)}/release`, body }, options);

/** Extend a lease */
export const extendLease = (
  client: Caller,
  id: string,
  body: ExtendRequest,
  options: CallOptions = {},
): Promise<Extended> =>
  client.request({ method: 'POST', path: `/jobs/${part(id)}/extend`, body }, options);

/** Ack, nack, release and extend many jobs at once */
export const settleJobs = (
  client: Caller,
  body: SettleRequest,
  options: CallOptions = {},
): Promise<SettleResults> =>
  client.request({ method: 'POST', path: '/jobs/settle', body }, options);

/** List queues by name */
export const listQueues = (
  client: Caller,
  options: CallOptions & {
    /** Only those whose name contains this. */
    name_contains?: string;
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
  } = {},
): Promise<QueuePage> =>
  client.request({ method: 'GET', path: '/queues', query: { name_contains: options.name_contains, limit: options.limit, cursor: options.cursor } }, options);

/** Get a queue */
export const getQueue = (
  client: Caller,
  queue: QueueName,
  options: CallOptions = {},
): Promise<Queue> =>
  client.request({ method: 'GET', path: `/queues/${part(queue)}` }, options);

/** Configure a queue */
export const configureQueue = (
  client: Caller,
  queue: QueueName,
  body: QueueConfig,
  options: CallOptions = {},
): Promise<Queue> =>
  client.request({ method: 'PUT', path: `/queues/${part(queue)}`, body }, options);

/** Delete a queue */
export const deleteQueue = (
  client: Caller,
  queue: QueueName,
  options: CallOptions & {
    /** Delete its jobs, too, leased ones included. */
    force?: boolean;
  } = {},
): Promise<undefined> =>
  client.request({ method: 'DELETE', path: `/queues/${part(queue)}`, query: { force: options.force } }, options);

/** Pause a queue */
export const pauseQueue = (
  client: Caller,
  queue: QueueName,
  options: CallOptions = {},
): Promise<Queue> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/pause` }, options);

/** Resume a queue */
export const resumeQueue = (
  client: Caller,
  queue: QueueName,
  options: CallOptions = {},
): Promise<Queue> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/resume` }, options);

/** Pause a group */
export const pauseGroup = (
  client: Caller,
  queue: QueueName,
  group: string,
  options: CallOptions = {},
): Promise<GroupStatus> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/groups/${part(group)}/pause` }, options);

/** Resume a group */
export const resumeGroup = (
  client: Caller,
  queue: QueueName,
  group: string,
  options: CallOptions = {},
): Promise<GroupStatus> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/groups/${part(group)}/resume` }, options);

/** Delete the jobs in some states */
export const purgeQueue = (
  client: Caller,
  queue: QueueName,
  body: PurgeRequest,
  options: CallOptions = {},
): Promise<Count> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/purge`, body }, options);

/** Make dead jobs ready again */
export const redriveQueue = (
  client: Caller,
  queue: QueueName,
  body?: RedriveRequest,
  options: CallOptions = {},
): Promise<Count> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/redrive`, body }, options);

/** List the databases */
export const listDatabases = (
  client: Caller,
  options: CallOptions = {},
): Promise<Databases> =>
  client.request({ method: 'GET', path: '/databases' }, options);

/** Open or close a database for new queues */
export const configureDatabase = (
  client: Caller,
  name: DatabaseName,
  body: DatabaseConfig,
  options: CallOptions = {},
): Promise<Database> =>
  client.request({ method: 'PUT', path: `/databases/${part(name)}`, body }, options);

/** Create a batch: jobs that belong together, and what follows their end */
export const createBatch = (
  client: Caller,
  body: BatchSpec,
  options: CallOptions & {
    /** Makes a repeat safe: within 24 hours, the same key with an equal body is answered what the first request was, with `Idempotent-Replayed: true`, and no job is enqueued again; with another body it is refused at once. Bodies are equal when they are the same JSON, with the members of objects in any order and white space anywhere; numbers and strings count by their text. Refusals are not remembered. A random UUID serves well; the whole value counts, quotation marks included. */
    idempotency_key?: string;
  } = {},
): Promise<Batch> =>
  client.request({ method: 'POST', path: '/batches', body, headers: { 'Idempotency-Key': options.idempotency_key } }, options);

/** List batches, newest first */
export const listBatches = (
  client: Caller,
  options: CallOptions & {
    queue?: QueueName;
    state?: BatchState;
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
  } = {},
): Promise<BatchPage> =>
  client.request({ method: 'GET', path: '/batches', query: { queue: options.queue, state: options.state, limit: options.limit, cursor: options.cursor } }, options);

/** Get a batch, or wait until it has ended */
export const getBatch = (
  client: Caller,
  id: string,
  options: CallOptions & {
    /** How long to wait for the end of the batch; the timeout of the client must be longer. */
    wait_seconds?: number;
  } = {},
): Promise<Batch> =>
  client.request({ method: 'GET', path: `/batches/${part(id)}`, query: { wait_seconds: options.wait_seconds } }, options);

/** Cancel a batch */
export const cancelBatch = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Batch> =>
  client.request({ method: 'DELETE', path: `/batches/${part(id)}` }, options);

/** What does my batch wait for? */
export const explainBatch = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<BatchExplanation> =>
  client.request({ method: 'GET', path: `/batches/${part(id)}/explain` }, options);

/** Close a batch */
export const closeBatch = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Batch> =>
  client.request({ method: 'POST', path: `/batches/${part(id)}/close` }, options);

/** Hold a session: leases that end when this connection is lost */
export const holdSession = (
  client: Caller,
  body?: SessionRequest,
  options: CallOptions = {},
): Promise<SessionLine> =>
  client.request({ method: 'POST', path: '/sessions', body }, options);

/** Cancel, retry, delete or move any number of jobs */
export const startOperation = (
  client: Caller,
  body: OperationRequest,
  options: CallOptions = {},
): Promise<Operation> =>
  client.request({ method: 'POST', path: '/operations', body }, options);

/** List operations, newest first */
export const listOperations = (
  client: Caller,
  options: CallOptions & {
    queue?: QueueName;
    /** Only those in this state. */
    state?: 'running' | 'done' | 'cancelled' | 'failed';
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
  } = {},
): Promise<OperationPage> =>
  client.request({ method: 'GET', path: '/operations', query: { queue: options.queue, state: options.state, limit: options.limit, cursor: options.cursor } }, options);

/** Move a queue to another database */
export const relocateQueue = (
  client: Caller,
  queue: QueueName,
  body: RelocateRequest,
  options: CallOptions = {},
): Promise<Operation> =>
  client.request({ method: 'POST', path: `/queues/${part(queue)}/relocate`, body }, options);

/** Get an operation */
export const getOperation = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Operation> =>
  client.request({ method: 'GET', path: `/operations/${part(id)}` }, options);

/** Stop an operation */
export const stopOperation = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<Operation> =>
  client.request({ method: 'DELETE', path: `/operations/${part(id)}` }, options);

/** All queues at a glance, those with trouble first */
export const getOverview = (
  client: Caller,
  options: CallOptions & {
    queue?: QueueName;
    /** How many queues to show at most. */
    limit?: number;
  } = {},
): Promise<Overview> =>
  client.request({ method: 'GET', path: '/overview', query: { queue: options.queue, limit: options.limit } }, options);

/** The last minutes of the busiest queues */
export const getSamples = (
  client: Caller,
  options: CallOptions & {
    queue?: QueueName;
    /** How many minutes back. With more than 120, the points are farther apart. */
    minutes?: number;
  } = {},
): Promise<Samples> =>
  client.request({ method: 'GET', path: '/overview/samples', query: { queue: options.queue, minutes: options.minutes } }, options);

/** List schedules by name */
export const listSchedules = (
  client: Caller,
  options: CallOptions & {
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
  } = {},
): Promise<SchedulePage> =>
  client.request({ method: 'GET', path: '/schedules', query: { limit: options.limit, cursor: options.cursor } }, options);

/** Get a schedule */
export const getSchedule = (
  client: Caller,
  name: ScheduleName,
  options: CallOptions = {},
): Promise<Schedule> =>
  client.request({ method: 'GET', path: `/schedules/${part(name)}` }, options);

/** Create a schedule, or replace it whole */
export const putSchedule = (
  client: Caller,
  name: ScheduleName,
  body: ScheduleSpec,
  options: CallOptions = {},
): Promise<Schedule> =>
  client.request({ method: 'PUT', path: `/schedules/${part(name)}`, body }, options);

/** Delete a schedule */
export const deleteSchedule = (
  client: Caller,
  name: ScheduleName,
  options: CallOptions = {},
): Promise<undefined> =>
  client.request({ method: 'DELETE', path: `/schedules/${part(name)}` }, options);

/** Enqueue the job of a schedule now */
export const triggerSchedule = (
  client: Caller,
  name: ScheduleName,
  options: CallOptions = {},
): Promise<Job> =>
  client.request({ method: 'POST', path: `/schedules/${part(name)}/trigger` }, options);

/** List access keys, oldest first */
export const listKeys = (
  client: Caller,
  options: CallOptions & {
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
  } = {},
): Promise<KeyPage> =>
  client.request({ method: 'GET', path: '/keys', query: { limit: options.limit, cursor: options.cursor } }, options);

/** Create an access key */
export const createKey = (
  client: Caller,
  body: NewKey,
  options: CallOptions = {},
): Promise<MadeKey> =>
  client.request({ method: 'POST', path: '/keys', body }, options);

/** Revoke an access key */
export const revokeKey = (
  client: Caller,
  id: string,
  options: CallOptions = {},
): Promise<undefined> =>
  client.request({ method: 'DELETE', path: `/keys/${part(id)}` }, options);

/** Give an access key a new secret */
export const rotateKey = (
  client: Caller,
  id: string,
  body: KeyRotation,
  options: CallOptions = {},
): Promise<MadeKey> =>
  client.request({ method: 'POST', path: `/keys/${part(id)}/rotate`, body }, options);

/** Who did what with the scope admin, newest first */
export const listAudit = (
  client: Caller,
  options: CallOptions & {
    /** Only what this key or token did, by its name. */
    actor?: string;
    /** Only this verb, such as `purgeQueue`. */
    verb?: string;
    queue?: QueueName;
    /** Only what was done at this time or later. */
    created_after?: string;
    /** Only what was done before this time. */
    created_before?: string;
    /** The page size. A page may be shorter. */
    limit?: number;
    /** The `next_cursor` of the page before. */
    cursor?: string;
  } = {},
): Promise<AuditPage> =>
  client.request({ method: 'GET', path: '/audit', query: { actor: options.actor, verb: options.verb, queue: options.queue, created_after: options.created_after, created_before: options.created_before, limit: options.limit, cursor: options.cursor } }, options);
