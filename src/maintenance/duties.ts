import { pruneBatches } from '../batches/duty.ts';
import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { ClaimsInDatabase } from '../claim/claims.ts';
import type { Enqueue } from '../enqueue/enqueue.ts';
import { regainKeys } from '../enqueue/regainKeys.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { recallPassedOver } from '../floor/recallPassedOver.ts';
import { storeFloors } from '../floor/storedFloors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { GroupRepair } from '../groups/repair.ts';
import type { DutyLog } from '../metrics/dutyLog.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import type { Queues } from '../queues/cache.ts';
import type { Relay } from '../relay/relay.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { scheduleTicks } from '../schedules/ticker.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { cutTable } from './cutter.ts';
import { type Duty, type RunningDuty, startDuty } from './duty.ts';
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
import type { RescueGrace } from './rescueGrace.ts';
import type { Rest } from './rest.ts';
import type { ScanHorizon } from './scanHorizon.ts';
import { expireJobs, promoteScheduled, rescueLeases } from './sweeper.ts';

const SWEEP_MS = 200;
const PRUNE_MS = 1000;
const ARRIVALS_MS = 200;
const RECALL_MS = 200;
const STORE_FLOORS_MS = 2000;
const LOST_LEASES_MS = 1000;
const SCHEDULES_MS = 1000;
const COUNTING_MS = 1000;
const OPERATIONS_MS = 500;
const RELAY_MS = 500;
const FORGET_PARCELS_MS = 60_000;
const RELOCATIONS_MS = 2000;
const BATCHES_MS = 500;
/** A replica is taken for dead when it has not renewed its row for 2.5 s (sql/shared/session_replica.sql). */
const SESSION_REPLICAS_MS = 1000;
const SESSIONS_MS = 1000;
const REGAIN_MS = 200;
const PRUNE_BATCHES_MS = 60_000;
const PRUNE_OPERATIONS_MS = 60_000;
const CUT_MS = 60_000;
const QUEUE_NUMBERS_MS = 60_000;
const CLOCK_MS = 10_000;
/** A revoked key is refused within a second, also where no notification arrives. */
const KEYS_MS = 500;
const KEY_USE_MS = 5000;
/** From the end of a look at all groups to the next one. */
const GROUPS_MS = 500;

/** Moves queues to other databases. */
export interface Relocations {
  run(): Promise<boolean>;
}

interface Context {
  db: Database;
  queues: Queues;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  clock: Clock;
  /** Up to when leases that ran out are dealt with. */
  leaseHorizon: ScanHorizon;
  /** The same for scheduled jobs. */
  scheduledHorizon: ScanHorizon;
  rest: Rest;
  rescueGrace: RescueGrace;
  throttle: BulkThrottle;
  groups: GroupHeads;
  repair: GroupRepair;
  claims: ClaimsInDatabase;
  keys: { follow(): Promise<boolean>; noteUse(): Promise<boolean> };
  arrivals: Arrivals;
  enqueueWithin: Enqueue['enqueueWithin'];
  tally: Tally;
  count(): Promise<boolean>;
  operations: { run(): Promise<boolean> };
  batchDuty: { run(): Promise<boolean> };
  sessions: { renew(): Promise<boolean>; isHolding(): boolean };
  sessionDuty: { run(): Promise<boolean | number>; mayBeAny(): boolean };
  queueNumbers: { run(): Promise<boolean> };
  /** Set where there are several databases. */
  relay: Relay | undefined;
  /** Set in the home of several databases. */
  relocations?: Relocations | undefined;
  /** Every claim and client that waits here looks once. */
  lookAnywhere(): void;
  dutyLog: DutyLog;
  log: (error: unknown, message: string) => void;
}

/**
 * Patrols (src/floor/patrol.ts) go on for this long after the last activity of any replica. The rarest are 30 s apart.
 */
const PATROLS_MS = 35_000;

/** While all replicas doze, one of them deletes this often what nobody can see any more. */
const UNSEEN_MS = 60_000;

const always = () => true;

/**
 * All duties. While the replica dozes, the due look (sql/maintenance/next_due.sql) says when `rescue`, `promote`,
 * `expire`, `schedules`, `operations`, `relocations`, `batches` and `prune_jobs` run.
 */
function dutiesOf(context: Context): Duty[] {
  const { clock, repair, claims, keys, arrivals, count, operations, rest, relay, relocations } = context;
  const { sessions, sessionDuty } = context;
  const inTurn = createSemaphore(1);
  /**
   * A duty that deletes what nobody sees any more. While the replica dozes, these run one after the other, on one
   * connection.
   */
  const unseen = (run: Duty['run']) => ({
    run: () => (rest.isAwake() ? run() : inTurn(run)),
    worksNow: rest.leads,
    dozingMs: UNSEEN_MS,
  });
  return [
    { name: 'rescue', everyMs: SWEEP_MS, run: rescueLeases(context) },
    { name: 'promote', everyMs: SWEEP_MS, run: promoteScheduled(context) },
    { name: 'expire', everyMs: SWEEP_MS, run: expireJobs(context) },
    { name: 'schedules', everyMs: SCHEDULES_MS, run: scheduleTicks(context) },
    { name: 'operations', everyMs: OPERATIONS_MS, run: operations.run },
    { name: 'prune_jobs', everyMs: PRUNE_MS, run: pruneJobs(context) },

    { name: 'arrivals', everyMs: ARRIVALS_MS, run: arrivals.follow },
    {
      name: 'recall',
      everyMs: RECALL_MS,
      run: recallPassedOver(context),
      worksNow: () => rest.quietMs() < PATROLS_MS,
    },
    { name: 'store_floors', everyMs: STORE_FLOORS_MS, run: storeFloors(context) },
    {
      name: 'groups',
      everyMs: GROUPS_MS,
      run: repair.run,
      // A replica may have been killed before it gave a group its next head. So in each doze one replica looks at all
      // groups.
      worksNow: () => repair.hasMissed() || (rest.leads() && !repair.hasSeenAll(rest.dozesFrom())),
    },

    { name: 'regain_keys', everyMs: REGAIN_MS, ...unseen(regainKeys(context)) },
    { name: 'batches', everyMs: BATCHES_MS, ...unseen(context.batchDuty.run) },
    { name: 'prune_batches', everyMs: PRUNE_BATCHES_MS, ...unseen(pruneBatches(context)) },
    { name: 'prune_answers', everyMs: PRUNE_MS, ...unseen(pruneAnswers(context)) },
    { name: 'prune_windows', everyMs: PRUNE_MS, ...unseen(pruneWindows(context)) },
    { name: 'prune_claims', everyMs: PRUNE_MS, ...unseen(pruneClaims(context)) },
    { name: 'prune_keys', everyMs: PRUNE_MS, ...unseen(pruneKeys(context)) },
    { name: 'prune_audit', everyMs: PRUNE_MS, ...unseen(pruneAudit(context)) },
    { name: 'prune_history', everyMs: PRUNE_MS, ...unseen(pruneHistory(context)) },
    { name: 'prune_operations', everyMs: PRUNE_OPERATIONS_MS, ...unseen(pruneOperations(context)) },
    { name: 'cut_history', everyMs: CUT_MS, ...unseen(cutTable(context, 'history')) },
    { name: 'cut_audit', everyMs: CUT_MS, ...unseen(cutTable(context, 'audit')) },
    { name: 'queue_numbers', everyMs: QUEUE_NUMBERS_MS, run: context.queueNumbers.run },
    ...(relay
      ? [
          { name: 'relay', everyMs: RELAY_MS, run: relay.run, worksNow: relay.hasWork },
          { name: 'forget_parcels', everyMs: FORGET_PARCELS_MS, run: relay.forget },
        ]
      : []),
    ...(relocations ? [{ name: 'relocations', everyMs: RELOCATIONS_MS, run: relocations.run }] : []),
    { name: 'clock', everyMs: CLOCK_MS, run: () => clock.adjust().then(() => false) },

    // These send a statement only when there is something to do, or somebody looks at the metrics.
    {
      name: 'session_replicas',
      everyMs: SESSION_REPLICAS_MS,
      run: sessions.renew,
      worksNow: sessions.isHolding,
    },
    { name: 'sessions', everyMs: SESSIONS_MS, run: sessionDuty.run, worksNow: sessionDuty.mayBeAny },
    { name: 'lost_leases', everyMs: LOST_LEASES_MS, run: claims.giveBackLost, worksNow: always },
    { name: 'keys', everyMs: KEYS_MS, run: keys.follow, worksNow: always },
    { name: 'key_use', everyMs: KEY_USE_MS, run: keys.noteUse, worksNow: always },
    { name: 'counting', everyMs: COUNTING_MS, run: count, worksNow: always },
  ];
}

/** Starts the duties that run beside the verbs on every replica. */
export function startDuties(context: Context) {
  const { rest, dutyLog, log } = context;
  const failed = (error: unknown) => log(error, 'a background duty failed, it will run again');
  const duties = new Map<string, RunningDuty>();
  for (const duty of dutiesOf(context)) {
    const rests = () => !rest.isAwake() && !duty.worksNow?.();
    const run = dutyLog.noting(duty.name, duty.run, rests);
    duties.set(duty.name, startDuty({ ...duty, run }, { isAwake: rest.isAwake, failed }));
  }
  rest.begin({
    resume() {
      for (const duty of duties.values()) duty.resume();
    },
    runDue: (name) => duties.get(name)?.runNow(),
    leftMs: (name) => duties.get(name)?.leftMs() ?? 0,
    lookAnywhere: context.lookAnywhere,
  });

  return {
    /** Settles when each duty has run once. By then the replica has reached its database. */
    begun: Promise.all([...duties.values()].map((duty) => duty.begun)).then(() => undefined),

    /** An operation was started here. */
    workOnOperations: (): void => void duties.get('operations')?.runNow(),

    /** A session was opened here, or its connection has ended. */
    lookAtSessions: (): void => void duties.get('sessions')?.runNow(),

    async stop(): Promise<void> {
      context.repair.stop();
      await rest.stop();
      await Promise.all([...duties.values()].map((duty) => duty.stop()));
    },
  };
}

export type Duties = ReturnType<typeof startDuties>;
