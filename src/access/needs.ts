import type { Scope } from '../caller.ts';
import { type NewBatch, queuesOfBatch } from '../verbs/batches.ts';
import type { AuditDetails } from '../verbs/keys.ts';
import type { SettleRequest } from '../verbs/settle.ts';
import type { AnswerTo, RequestOf, VerbName } from '../verbs.ts';

/** What an act was about. An audit line has nothing but names, ids, numbers and choices. */
export interface Subject {
  queue?: string | undefined;
  job_id?: string;
  schedule?: string;
  key_id?: string;
  database?: string | undefined;
  /** How many jobs. */
  count?: number | undefined;
  details?: AuditDetails;
}

/**
 * What a verb needs of its caller. All that a request touches is named here:
 *
 *   the request names a queue that the caller may not use      it is refused: `forbidden`
 *   it names a job in such a queue by its id                   it is refused as if there were no such job: `job_not_found`
 *   it lists jobs, queues or schedules                         it gets those that the caller may see
 */
// biome-ignore lint/suspicious/noExplicitAny: each verb has a request and an answer of its own type.
export interface Need<R = any, A = any> {
  scope: Scope;
  /** The queues that the request names. */
  queues?(request: R): Iterable<string>;
  /**
   * A queue that the request names as where the dead jobs of `queue` go. It may stay where it is already: only a change
   * needs the right to use it.
   */
  deadLetters?(request: R): string | null;
  /** The queues that it creates where there are none. */
  creates?(request: R): Iterable<string>;
  /** The queues into which it enqueues beside its own work. They need the scope `produce`, too. */
  followUps?(request: R): Iterable<string>;
  /** The request is about the job `id`. */
  job?: true;
  /** The batches into which it puts jobs. The caller must be allowed to use their queues. */
  batches?(request: R): Iterable<string>;
  /** The request has lists of items, each about the job `id`. Each is answered by itself. */
  items?: true;
  /**
   * The verb takes the queues that it may show, touch and name in a refusal: as patterns for statements (`visible`), and
   * as a check (`mayUse`).
   */
  narrowed?: true;
  /** It only looks. Callers take turns: the request gets the caller as `from`. */
  looks?: true;
  /** The request gets the caller's name as `by`: for the history of jobs, and for turns in waits for locks. */
  signed?: true;
  /** The request may wait for up to `wait_seconds`. It waits no longer when its caller ends. */
  waits?: true;
  /** What it answers is held on (verbs/sessions.ts), until its caller ends. */
  holds?: true;
  /** It concerns every queue, so it needs the pattern `*`. */
  everywhere?: true;
  /** Another scope that this request needs. */
  also?(request: R): Scope | undefined;
  /** The verb is audited: what the act was about. `answer` is undefined when the act was refused. */
  about?(request: R, answer?: A): Subject;
  /**
   * The request with the names that it chose itself, such as a `claim_id`, made different from those of other callers.
   */
  own?(request: R, caller: string): R;
}

interface Job {
  queue?: string;
  batch?: string | undefined;
}
interface Claim {
  queues?: string[];
  claim_id?: string;
  session?: string;
  owner?: string | undefined;
}
interface Named {
  queue: string;
}

const DEFAULT = 'default';
const queueOf = ({ queue = DEFAULT }: Job) => queue;
const NONE: readonly string[] = [];
const followUpsOf = ({ enqueue }: { enqueue?: Job[] | undefined }) => enqueue?.map(queueOf) ?? NONE;
const named = ({ queue }: Named) => [queue];
const enqueued = ({ jobs }: { jobs: Job[] }) => jobs.map(queueOf);

/** The jobs that a new batch names: its own, and its followers. */
const jobsOfBatch = ({ jobs, on_success, on_end }: NewBatch): Job[] =>
  [...jobs, on_success, on_end].filter((job) => job !== undefined);
const inNewBatch = (request: NewBatch) => [request.queue, ...queuesOfBatch(request)];

const batchesOf = (jobs: Job[] | undefined): string[] =>
  jobs?.flatMap(({ batch }) => (batch === undefined ? [] : [batch])) ?? [];
const batchesOfJobs = ({ jobs }: { jobs: Job[] }) => batchesOf(jobs);
const batchesOfFollowUps = ({ enqueue }: { enqueue?: Job[] | undefined }) => batchesOf(enqueue);

const scheduled = ({ spec }: { spec: { job: Job } }) => [queueOf(spec.job)];

const claimed = ({ queues = [DEFAULT] }: Claim) => queues;
/** Makes a name that a client chose different from the same name of another caller. */
const ownName = (caller: string, name: string) => `${JSON.stringify(caller)} ${name}`;
const ownClaim = <C extends Claim>(claim: C, caller: string): C => {
  const { claim_id, session } = claim;
  const named = claim_id === undefined ? claim : { ...claim, claim_id: ownName(caller, claim_id) };
  return session === undefined ? named : { ...named, owner: caller };
};

const settled = ({ acks = [], nacks = [] }: SettleRequest) =>
  new Set([...acks, ...nacks].flatMap(followUpsOf));
const settle = {
  scope: 'consume',
  signed: true,
  items: true,
  followUps: settled,
  creates: settled,
} as const;
const read = { scope: 'read' } as const;
const look = { ...read, looks: true } as const;
/** A list of what the caller may see, of one queue or of all. */
const listed = {
  ...look,
  queues: ({ queue }: Job) => (queue === undefined ? [] : [queue]),
  narrowed: true,
} as const;
const consume = { scope: 'consume', job: true } as const;
const admin = { scope: 'admin', about: ({ queue }: { queue?: string }): Subject => ({ queue }) } as const;

interface Configured extends Named {
  config: { dead_letter_queue: string | null };
}
const deadLettersOf = ({ config }: Configured) => config.dead_letter_queue;
/** A queue, and where its dead jobs go. */
const configured = (request: Configured) =>
  [request.queue, deadLettersOf(request)].filter((queue) => queue !== null);

const adminOfJob = {
  scope: 'admin',
  job: true,
  signed: true,
  about: ({ id }: { id: string }, job?: Named): Subject => ({
    job_id: id,
    queue: job?.queue,
    count: job && 1,
  }),
} as const;

const adminOfJobs = {
  scope: 'admin',
  queues: named,
  about: ({ queue }: Named, count?: number): Subject => ({ queue, count }),
} as const;

const adminOfGroup = {
  scope: 'admin',
  signed: true,
  queues: named,
  about: ({ queue, group }: Named & { group: string }): Subject => ({ queue, details: { group } }),
} as const;

const adminOfSchedule = {
  scope: 'admin',
  narrowed: true,
  about: ({ name }: { name: string }): Subject => ({ schedule: name }),
} as const;

const adminOfKey = {
  scope: 'admin',
  everywhere: true,
  about: ({ id }: { id: string }): Subject => ({ key_id: id }),
} as const;

export const NEEDS = {
  enqueue: {
    scope: 'produce',
    signed: true,
    queues: enqueued,
    creates: enqueued,
    batches: batchesOfJobs,
  },
  enqueueOnce: {
    scope: 'produce',
    signed: true,
    queues: enqueued,
    creates: enqueued,
    batches: batchesOfJobs,
    own: (request, caller) => ({
      ...request,
      request: { ...request.request, route: ownName(caller, request.request.route) },
    }),
  },
  waitForEnqueued: {
    scope: 'produce',
    job: true,
    waits: true,
    // A job that was there before is somebody else's: its payload and result are for readers.
    also: ({ announced }: { announced?: boolean }) => (announced ? undefined : 'read'),
  },

  claim: {
    scope: 'consume',
    waits: true,
    queues: claimed,
    own: ownClaim,
  },
  ack: {
    ...consume,
    signed: true,
    followUps: followUpsOf,
    creates: followUpsOf,
    batches: batchesOfFollowUps,
  },
  nack: {
    ...consume,
    signed: true,
    followUps: followUpsOf,
    creates: followUpsOf,
    batches: batchesOfFollowUps,
  },
  release: { ...consume, signed: true },
  extend: consume,
  settle,
  settleAndClaim: {
    ...settle,
    waits: true,
    queues: ({ claim }: { claim: Claim }) => claimed(claim),
    own: (request, caller) => ({ ...request, claim: ownClaim(request.claim, caller) }),
  },

  getJob: { ...read, job: true },
  waitForJob: { ...read, job: true, waits: true },
  explainJob: { ...look, job: true },
  getJobHistory: { ...look, job: true },
  listJobs: listed,
  cancelJob: adminOfJob,
  retryJob: adminOfJob,
  changeJob: adminOfJob,

  getQueue: { ...look, queues: named },
  listQueues: { ...look, narrowed: true },
  explainQueue: { ...look, queues: named },
  getQueueErrors: { ...look, queues: named },
  listWorkers: listed,
  getMetrics: { ...read, narrowed: true },
  getOverview: { ...read, queues: ({ queue }: Job) => (queue === undefined ? [] : [queue]), narrowed: true },
  getSamples: listed,
  configureQueue: {
    ...admin,
    signed: true,
    queues: named,
    narrowed: true,
    deadLetters: deadLettersOf,
    creates: configured,
    about: ({ queue, database }: Named & { database?: string | undefined }): Subject => ({ queue, database }),
  },
  pauseQueue: { ...admin, signed: true, queues: named, creates: named },
  resumeQueue: { ...admin, signed: true, queues: named },
  pauseGroup: { ...adminOfGroup, creates: named },
  resumeGroup: adminOfGroup,
  deleteQueue: {
    ...admin,
    signed: true,
    queues: named,
    about: ({ queue, force }): Subject => ({ queue, details: { force: force || undefined } }),
  },
  purgeQueue: {
    ...adminOfJobs,
    about: (request, count) => ({
      ...adminOfJobs.about(request, count),
      details: { states: request.states },
    }),
  },
  redriveQueue: {
    ...adminOfJobs,
    signed: true,
    narrowed: true,
    about: (request, count) => ({
      ...adminOfJobs.about(request, count),
      details: { home: request.home || undefined },
    }),
  },

  startOperation: {
    ...admin,
    signed: true,
    queues: ({ queue, to }: { queue: string; to?: string }) => (to === undefined ? [queue] : [queue, to]),
    about: ({ queue, verb, to, dry_run }, operation): Subject => ({
      queue,
      details: { operation_id: operation?.id, operation: verb, to, dry_run: dry_run || undefined },
    }),
  },
  getOperation: { ...look, narrowed: true },
  listOperations: listed,
  stopOperation: {
    scope: 'admin',
    narrowed: true,
    about: ({ id }, operation) => ({
      queue: operation?.queue,
      count: operation?.done,
      details: { operation_id: id, operation: operation?.verb },
    }),
  },

  createBatch: {
    scope: 'produce',
    signed: true,
    queues: inNewBatch,
    creates: inNewBatch,
    batches: (request) => batchesOf(jobsOfBatch(request)),
    own: (request, caller) =>
      request.once === undefined
        ? request
        : { ...request, once: { ...request.once, route: ownName(caller, request.once.route) } },
  },
  getBatch: { ...look, narrowed: true },
  waitForBatch: { ...read, narrowed: true, waits: true },
  listBatches: listed,
  explainBatch: { ...look, narrowed: true },
  closeBatch: { scope: 'produce', narrowed: true },
  cancelBatch: {
    scope: 'admin',
    signed: true,
    narrowed: true,
    about: ({ id }, batch) => ({
      queue: batch?.queue,
      count: batch?.counts.cancelled,
      details: { batch_id: id },
    }),
  },

  holdSession: { scope: 'consume', holds: true, own: (request, caller) => ({ ...request, owner: caller }) },

  getSchedule: { ...look, narrowed: true },
  listSchedules: { ...look, narrowed: true },
  putSchedule: {
    ...adminOfSchedule,
    queues: scheduled,
    creates: scheduled,
    about: ({ name, spec }: { name: string; spec: { job: Job } }) => ({
      schedule: name,
      queue: queueOf(spec.job),
    }),
  },
  deleteSchedule: adminOfSchedule,
  triggerSchedule: {
    ...adminOfSchedule,
    about: ({ name }: { name: string }, job?: Named) => ({
      schedule: name,
      queue: job?.queue,
      count: job && 1,
    }),
  },

  listDatabases: { ...look, narrowed: true },
  configureDatabase: {
    scope: 'admin',
    everywhere: true,
    about: ({ name }: { name: string }): Subject => ({ database: name }),
  },
  relocateQueue: {
    ...admin,
    signed: true,
    queues: named,
    narrowed: true,
    about: ({ queue, to, dry_run }, operation): Subject => ({
      queue,
      database: to,
      details: { operation_id: operation?.id, dry_run: dry_run || undefined },
    }),
  },

  // A caller for some queues could make a key for all of them.
  listKeys: { scope: 'admin', looks: true, everywhere: true },
  createKey: {
    scope: 'admin',
    everywhere: true,
    about: (_: unknown, key?: { id: string }): Subject => (key ? { key_id: key.id } : {}),
  },
  revokeKey: adminOfKey,
  rotateKey: adminOfKey,

  listAudit: { scope: 'admin', looks: true, everywhere: true },
} satisfies { [V in VerbName]: Need<RequestOf<V>, AnswerTo<V>> };

export const needOf = (verb: VerbName): Need => NEEDS[verb];
