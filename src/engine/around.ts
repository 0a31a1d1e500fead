import { needOf } from '../access/needs.ts';
import { createSettleAndClaim } from '../claim/settleAndClaim.ts';
import {
  type Concern,
  countCalls,
  keepAwake,
  logCalls,
  noteServedClaims,
  refusedWhenSlow,
  shareLooks,
  unknownWhenBroken,
  withConcerns,
} from '../concerns.ts';
import { createLooks } from '../looks.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import type { BatchTraces } from '../tracing/batchLinks.ts';
import { traceVerbs } from '../tracing/verbs.ts';
import type { IdempotentEnqueue, NewJob } from '../verbs/enqueue.ts';
import type { Ack, Nack } from '../verbs/settle.ts';
import type { VerbName, Verbs } from '../verbs.ts';
import type { Base } from './base.ts';

/** Looks at once, over all kinds. A page of jobs may have 16 MiB. */
const LOOKS = 2;

/** Verbs that commit more than once. */
const SEVERAL_TRANSACTIONS: readonly VerbName[] = [
  'configureQueue',
  'pauseQueue',
  'resumeQueue',
  'pauseGroup',
  'resumeGroup',
  'deleteQueue',
  'purgeQueue',
  'redriveQueue',
  'createBatch',
  'closeBatch',
  'cancelBatch',
];

/**
 * Verbs whose calls the ledger does not count: the quick ones, which have kinds of their own there, and the one that
 * asks for the count.
 */
const UNCOUNTED: readonly VerbName[] = [
  'enqueue',
  'claim',
  'ack',
  'nack',
  'release',
  'extend',
  'settle',
  'settleAndClaim',
  'getMetrics',
];

const always = () => true;
const isLook = (verb: VerbName) => needOf(verb).looks === true;
/** Whether a call may make something due. A claim does when it is served. */
const makesDue = (verb: VerbName) => verb !== 'claim' && needOf(verb).scope !== 'read' && !isLook(verb);
const hasFollowUps = ({ enqueue }: Ack | Nack) => enqueue !== undefined;

/**
 * The calls of several transactions that are answered in time all the same. Purges, redrives and deletions of queues
 * may take as long as they need, and so does a client that waits for its job.
 */
const IN_TIME = {
  enqueue: ({ jobs }: { jobs: NewJob[] }) =>
    jobs.some(
      (job) => job.queue !== jobs[0]?.queue || job.unique_key !== undefined || job.group !== undefined,
    ),
  enqueueOnce: ({ afterwards }: IdempotentEnqueue) => afterwards === undefined,
  ack: hasFollowUps,
  nack: hasFollowUps,
  settle: ({ acks, nacks }: { acks?: Ack[]; nacks?: Nack[] }) =>
    (acks?.some(hasFollowUps) || nacks?.some(hasFollowUps)) ?? false,
  explainJob: always,
  getJobHistory: always,
  listJobs: always,
  cancelJob: always,
  retryJob: always,
  changeJob: always,
  getQueue: always,
  listQueues: always,
  explainQueue: always,
  getQueueErrors: always,
  listWorkers: always,
  getSamples: always,
  getOperation: always,
  listOperations: always,
  createBatch: always,
  getBatch: always,
  listBatches: always,
  explainBatch: always,
  closeBatch: always,
  getSchedule: always,
  listSchedules: always,
  listDatabases: always,
  listKeys: always,
  listAudit: always,
  configureQueue: always,
  pauseQueue: always,
  resumeQueue: always,
  pauseGroup: always,
  resumeGroup: always,
  putSchedule: always,
  triggerSchedule: always,
  configureDatabase: always,
  relocateQueue: always,
};

export interface AroundOptions {
  /** Whether there is an SDK that takes spans. */
  traces?: boolean | undefined;
  /** Is given a line for each call of a verb, where somebody wants to read them. */
  logCall?: ((fields: object, message: string) => void) | undefined;
}

/** The verbs of the rooms on one database, with what concerns that database around them. */
export function aroundRooms<V extends object>(verbs: V, { rest, throttle }: Base): V {
  return withConcerns(verbs, [
    keepAwake(rest, makesDue),
    noteServedClaims(() => {
      throttle.served();
      rest.active();
    }),
  ]);
}

/** All verbs, with what no verb does by itself around them. The first concern is the outermost. */
export function surround(
  verbs: Omit<Verbs, 'settleAndClaim'>,
  { ledger, leaseEnds }: Pick<Base, 'ledger' | 'leaseEnds'>,
  { traces, logCall, batchTraces }: AroundOptions & { batchTraces: BatchTraces },
): Verbs {
  const concerns: Concern[] = [
    ...(traces ? [traceVerbs(batchTraces)] : []),
    ...(logCall ? [logCalls(logCall)] : []),
    countCalls(ledger, UNCOUNTED),
    unknownWhenBroken(SEVERAL_TRANSACTIONS),
    refusedWhenSlow(IN_TIME),
    shareLooks(isLook, createLooks(createSemaphore(LOOKS))),
  ];
  const surrounded = withConcerns(verbs, concerns);
  return { ...surrounded, settleAndClaim: createSettleAndClaim({ ...surrounded, leaseEnds }) };
}
