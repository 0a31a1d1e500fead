import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { Claims } from '../claim/claims.ts';
import type { Enqueue } from '../enqueue/enqueue.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { recallPassedOver, storeFloors } from '../floor/recall.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { GroupRepair } from '../groups/repair.ts';
import type { DutyLog } from '../metrics/dutyLog.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { scheduleTicks } from '../schedules/ticker.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { cutTable } from './cutter.ts';
import { startDuty } from './duty.ts';
import {
  pruneAnswers,
  pruneAudit,
  pruneClaims,
  pruneHistory,
  pruneJobs,
  pruneKeys,
  pruneOperations,
  pruneWindows,
} from './pruner.ts';
import type { ScanHorizon } from './scanHorizon.ts';
import { expireJobs, promoteScheduled, rescueLeases } from './sweeper.ts';

const SWEEP_MS = 200;
const PRUNE_MS = 1000;
const ARRIVALS_MS = 200;
const RECALL_MS = 200;
const STORE_FLOORS_MS = 2000;
const LOST_LEASES_MS = 1000;
const SCHEDULES_MS = 1000;
const TOTALS_MS = 1000;
const DEPTHS_MS = 1000;
const SAMPLES_MS = 5000;
const OPERATIONS_MS = 500;
const PRUNE_OPERATIONS_MS = 60_000;
const CUT_MS = 60_000;
const QUEUE_NUMBERS_MS = 60_000;
const CLOCK_MS = 10_000;
/** A revoked key is refused within a second, also where no notification arrives. */
const KEYS_MS = 500;
const KEY_USE_MS = 5000;
/** At the latest. The repair asks for an earlier time itself. */
const GROUPS_MS = 60_000;

/** Starts the duties that run beside the verbs on every replica. */
export function startDuties(context: {
  db: Database;
  queues: Queues;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  clock: Clock;
  /** Up to when leases that ran out are dealt with. */
  leaseHorizon: ScanHorizon;
  throttle: BulkThrottle;
  groups: GroupHeads;
  repair: GroupRepair;
  claims: Claims;
  keys: { follow(): Promise<boolean>; noteUse(): Promise<boolean> };
  arrivals: Arrivals;
  enqueueWithin: Enqueue['enqueueWithin'];
  tally: Tally;
  totals: { run(): Promise<boolean> };
  depths: { run(): Promise<boolean> };
  sampler: { run(): Promise<boolean> };
  operations: { run(): Promise<boolean> };
  queueNumbers: { run(): Promise<boolean> };
  dutyLog: DutyLog;
  log: (error: unknown, message: string) => void;
}) {
  const { clock, repair, claims, keys, arrivals, totals, depths, sampler, operations, dutyLog, log } =
    context;
  const failed = (error: unknown) => log(error, 'a background duty failed, it will run again');
  const start = (name: string, everyMs: number, run: () => Promise<boolean | number>) =>
    startDuty({ everyMs, failed, run: dutyLog.noting(name, run) });
  const operationsDuty = start('operations', OPERATIONS_MS, operations.run);
  const duties = [
    start('rescue', SWEEP_MS, rescueLeases(context)),
    start('promote', SWEEP_MS, promoteScheduled(context)),
    start('expire', SWEEP_MS, expireJobs(context)),
    start('arrivals', ARRIVALS_MS, arrivals.follow),
    start('recall', RECALL_MS, recallPassedOver(context)),
    start('store_floors', STORE_FLOORS_MS, storeFloors(context)),
    start('lost_leases', LOST_LEASES_MS, claims.giveBackLost),
    start('groups', GROUPS_MS, repair.run),
    start('prune_jobs', PRUNE_MS, pruneJobs(context)),
    start('prune_answers', PRUNE_MS, pruneAnswers(context)),
    start('prune_windows', PRUNE_MS, pruneWindows(context)),
    start('prune_claims', PRUNE_MS, pruneClaims(context)),
    start('prune_keys', PRUNE_MS, pruneKeys(context)),
    start('prune_audit', PRUNE_MS, pruneAudit(context)),
    start('prune_history', PRUNE_MS, pruneHistory(context)),
    start('prune_operations', PRUNE_OPERATIONS_MS, pruneOperations(context)),
    start('cut_history', CUT_MS, cutTable(context, 'history')),
    start('cut_audit', CUT_MS, cutTable(context, 'audit')),
    start('queue_numbers', QUEUE_NUMBERS_MS, context.queueNumbers.run),
    operationsDuty,
    start('keys', KEYS_MS, keys.follow),
    start('key_use', KEY_USE_MS, keys.noteUse),
    start('schedules', SCHEDULES_MS, scheduleTicks(context)),
    start('clock', CLOCK_MS, () => clock.adjust().then(() => false)),
    start('totals', TOTALS_MS, totals.run),
    start('depths', DEPTHS_MS, depths.run),
    start('samples', SAMPLES_MS, sampler.run),
  ];

  return {
    /** Settles when each duty has run once. By then it has a connection. */
    begun: Promise.all(duties.map((duty) => duty.begun)).then(() => undefined),

    /** An operation was started here. */
    workOnOperations: operationsDuty.runNow,

    async stop(): Promise<void> {
      repair.stop();
      await Promise.all(duties.map((duty) => duty.stop()));
    },
  };
}
