import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { Claims } from '../claim/claims.ts';
import type { Enqueue } from '../enqueue/enqueue.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { GroupRepair } from '../groups/repair.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Database } from '../postgres/pool.ts';
import type { Arrivals } from '../queues/arrivals.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { scheduleTicks } from '../schedules/ticker.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { startDuty } from './duty.ts';
import { pruneAnswers, pruneAudit, pruneClaims, pruneJobs, pruneKeys, pruneWindows } from './pruner.ts';
import { recallPassedOver, storeFloors } from './recall.ts';
import { expireJobs, promoteScheduled, rescueLeases } from './sweeper.ts';

const SWEEP_MS = 200;
const PRUNE_MS = 1000;
const ARRIVALS_MS = 200;
const RECALL_MS = 200;
const STORE_FLOORS_MS = 2000;
const LOST_LEASES_MS = 1000;
const SCHEDULES_MS = 1000;
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
  throttle: BulkThrottle;
  groups: GroupHeads;
  repair: GroupRepair;
  claims: Claims;
  keys: { follow(): Promise<boolean>; noteUse(): Promise<boolean> };
  arrivals: Arrivals;
  enqueueWithin: Enqueue['enqueueWithin'];
  log: (error: unknown, message: string) => void;
}) {
  const { clock, repair, claims, keys, arrivals, log } = context;
  const failed = (error: unknown) => log(error, 'a background duty failed, it will run again');
  const start = (everyMs: number, run: () => Promise<boolean | number>) =>
    startDuty({ everyMs, failed, run });
  const duties = [
    start(SWEEP_MS, rescueLeases(context)),
    start(SWEEP_MS, promoteScheduled(context)),
    start(SWEEP_MS, expireJobs(context)),
    start(ARRIVALS_MS, arrivals.follow),
    start(RECALL_MS, recallPassedOver(context)),
    start(STORE_FLOORS_MS, storeFloors(context)),
    start(LOST_LEASES_MS, claims.giveBackLost),
    start(GROUPS_MS, repair.run),
    start(PRUNE_MS, pruneJobs(context)),
    start(PRUNE_MS, pruneAnswers(context)),
    start(PRUNE_MS, pruneWindows(context)),
    start(PRUNE_MS, pruneClaims(context)),
    start(PRUNE_MS, pruneKeys(context)),
    start(KEYS_MS, keys.follow),
    start(KEY_USE_MS, keys.noteUse),
    start(PRUNE_MS, pruneAudit(context)),
    start(SCHEDULES_MS, scheduleTicks(context)),
    start(CLOCK_MS, () => clock.adjust().then(() => false)),
  ];

  return {
    /** Settles when each duty has run once. By then it has a connection. */
    begun: Promise.all(duties.map((duty) => duty.begun)).then(() => undefined),

    async stop(): Promise<void> {
      repair.stop();
      await Promise.all(duties.map((duty) => duty.stop()));
    },
  };
}
