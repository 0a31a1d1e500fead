import type { Ack, Nack } from '../settle/requests.ts';
import type { Scope } from './caller.ts';

/**
 * What a verb needs of its caller. All that a request touches is named here:
 *
 *   the request names a queue that the caller may not use      403 `forbidden`
 *   it names a job in such a queue by its id                   404, as if there were no such job
 *   it lists jobs, queues or schedules                         it gets those that the caller may see
 */
// biome-ignore lint/suspicious/noExplicitAny: each verb has a request of its own type.
export interface Need<R = any> {
  scope: Scope;
  /** The queues that the request names. */
  queues?(request: R): Iterable<string>;
  /** The queues into which it enqueues beside its own work. They need the scope `produce`, too. */
  followUps?(request: R): Iterable<string>;
  /** The request is about the job `id`. */
  job?: true;
  /** The request has lists of items, each about the job `id`. Each is answered by itself. */
  items?: true;
  /** The verb takes `visible`: the patterns of the queues that it may show and touch. */
  narrowed?: true;
  /** It concerns every queue, so it needs the pattern `*`. */
  everywhere?: true;
  /** The request with the names that it chose itself, such as a `claim_id`, made different from those of other callers. */
  own?(request: R, caller: string): R;
}

interface Job {
  queue?: string;
}
interface Named {
  queue: string;
}

const DEFAULT = 'default';
const queueOf = ({ queue = DEFAULT }: Job) => queue;
const followUpsOf = ({ enqueue = [] }: { enqueue?: Job[] | undefined }) => enqueue.map(queueOf);
const named = ({ queue }: Named) => [queue];
const enqueued = ({ jobs }: { jobs: Job[] }) => new Set(jobs.map(queueOf));

const read = { scope: 'read' } as const;
const consume = { scope: 'consume', job: true } as const;
const admin = { scope: 'admin' } as const;

export const NEEDS = {
  enqueue: { scope: 'produce', queues: enqueued },
  enqueueOnce: {
    scope: 'produce',
    queues: enqueued,
    own: (request, caller) => ({
      ...request,
      request: { ...request.request, route: `${request.request.route} ${caller}` },
    }),
  },
  waitForEnqueued: { scope: 'produce', job: true },

  claim: {
    scope: 'consume',
    queues: ({ queues = [DEFAULT] }: { queues?: string[] }) => queues,
    own: (request, caller) =>
      request.claim_id === undefined ? request : { ...request, claim_id: `${caller} ${request.claim_id}` },
  },
  ack: { ...consume, followUps: followUpsOf },
  nack: { ...consume, followUps: followUpsOf },
  release: consume,
  extend: consume,
  settle: {
    scope: 'consume',
    items: true,
    followUps: ({ acks = [], nacks = [] }: { acks?: Ack[]; nacks?: Nack[] }) =>
      new Set([...acks, ...nacks].flatMap(followUpsOf)),
  },

  getJob: { ...read, job: true },
  waitForJob: { ...read, job: true },
  explainJob: { ...read, job: true },
  listJobs: { ...read, queues: ({ queue }: Job) => (queue === undefined ? [] : [queue]), narrowed: true },
  cancelJob: { ...admin, job: true },
  retryJob: { ...admin, job: true },

  getQueue: { ...read, queues: named },
  listQueues: { ...read, narrowed: true },
  explainQueue: { ...read, queues: named },
  getMetrics: { ...read, narrowed: true },
  configureQueue: { ...admin, queues: named },
  pauseQueue: { ...admin, queues: named },
  resumeQueue: { ...admin, queues: named },
  deleteQueue: { ...admin, queues: named },
  purgeQueue: { ...admin, queues: named },
  redriveQueue: { ...admin, queues: named },

  getSchedule: { ...read, narrowed: true },
  listSchedules: { ...read, narrowed: true },
  putSchedule: {
    ...admin,
    queues: ({ spec }: { spec: { job: Job } }) => [queueOf(spec.job)],
    narrowed: true,
  },
  deleteSchedule: { ...admin, narrowed: true },
  triggerSchedule: { ...admin, narrowed: true },
} satisfies Record<string, Need>;

/** A verb of the engine that callers may ask for. */
export type VerbName = keyof typeof NEEDS;

export const needOf = (verb: VerbName): Need => NEEDS[verb];
