import { createBulkThrottle } from '../batching/bulkThrottle.ts';
import { createRoundTrips } from '../batching/roundTrips.ts';
import { DATABASE } from '../config/settings/database.ts';
import { OBSERVING } from '../config/settings/observing.ts';
import { createArrivals } from '../floor/arrivals.ts';
import { createLeaseTimes, type LeaseTimes } from '../leaseTimes.ts';
import { createLedger, type Ledger } from '../ledger.ts';
import { dueLook } from '../maintenance/dueLook.ts';
import { createRescueGrace } from '../maintenance/rescueGrace.ts';
import { createRest } from '../maintenance/rest.ts';
import { createScanHorizon } from '../maintenance/scanHorizon.ts';
import type { Times as RestTimes } from '../maintenance/stages.ts';
import { createMemory, type Memory } from '../memory.ts';
import { createTally } from '../metrics/tally.ts';
import { createTotals } from '../metrics/totals.ts';
import { databaseClock } from '../postgres/clock.ts';
import type { OutageLog } from '../postgres/outageLog.ts';
import type { Database } from '../postgres/pool.ts';
import { queueCache } from '../queues/cache.ts';
import type { NumberedCreation } from '../queues/creation.ts';
import type { Crossing } from '../relay/relay.ts';
import { createNotifier } from '../replicas/notifier.ts';
import { createSoleWaiters } from '../waiting/soleWaiters.ts';
import { createWaiters } from '../waiting/waiters.ts';

export interface BaseOptions {
  db: Database;
  /** The memory budget of this replica. */
  memory?: Memory;
  /** How many queues have metrics of their own. */
  metricsQueues?: number | undefined;
  /** Where to LISTEN: a connection of its own, not through a transaction pooler. */
  listenUrl: string;
  /** Hears when this replica stops hearing notifications, and when it hears them again. */
  listenState?: OutageLog | undefined;
  log(error: unknown, message: string): void;
  /** For how long leases that ran out during an outage are left alone. */
  rescueGraceSeconds?: number | undefined;
  /** When requests can reach this replica, if not at once. */
  reachable?: Promise<unknown> | undefined;
  /** Hears of what is no error. */
  logNews?: ((line: string) => void) | undefined;
  /** When its duties rest. */
  restTimes?: Partial<RestTimes> | undefined;
  /** What the databases of a replica have together. */
  ledger?: Ledger | undefined;
  leaseEnds?: LeaseTimes | undefined;
  /** Creates queues with the numbers that `home` gave them, where there are several databases. */
  creation?: NumberedCreation | undefined;
  /** Set where there are several databases. */
  crossing?: Crossing | undefined;
}

/** What the rooms stand on: the database and its queues, the other replicas, and what this replica counts and holds. */
export function createBase(options: BaseOptions) {
  const { db, log, memory = createMemory(), metricsQueues = OBSERVING.METRICS_QUEUES.default } = options;
  const clock = databaseClock(db);
  const tally = createTally(clock.now);
  const { ledger = createLedger(), leaseEnds = createLeaseTimes() } = options;
  ledger.count('lock_waits', db.heldByLocks);
  const notifier = createNotifier({ db, url: options.listenUrl, state: options.listenState, log });
  const leaseHorizon = createScanHorizon(clock);
  const scheduledHorizon = createScanHorizon(clock);
  const look = dueLook({ db, notifier, leaseHorizon, scheduledHorizon });
  const rest = createRest({
    look: () =>
      look().catch((error) => {
        rescueGrace.failed(error);
        throw error;
      }),
    tell: notifier.active,
    hears: notifier.hears,
    log,
    times: options.restTimes,
  });
  const rescueGrace = createRescueGrace({
    db,
    rest,
    seconds: options.rescueGraceSeconds ?? DATABASE.RESCUE_GRACE_SECONDS.default,
    reachable: options.reachable ?? Promise.resolve(),
    log: options.logNews ?? (() => undefined),
  });
  return {
    db,
    log,
    crossing: options.crossing,
    memory,
    clock,
    tally,
    ledger,
    notifier,
    leaseHorizon,
    scheduledHorizon,
    rest,
    rescueGrace,
    totals: createTotals({ db, tally, most: metricsQueues }),
    queues: queueCache(db, notifier.opened, options.creation),
    arrivals: createArrivals(db),
    leaseEnds,
    waiters: createWaiters({ tell: notifier.finished, ledger }),
    soleWaiters: createSoleWaiters({ ledger }),
    throttle: createBulkThrottle(),
    inRoundTrip: createRoundTrips(db, tally),
    inCautiousRoundTrip: createRoundTrips(db, tally, { isCautious: true }),
  };
}

export type Base = ReturnType<typeof createBase>;
