import { bulkVerbs } from './admin/bulk.ts';
import { jobAdmin } from './admin/jobs.ts';
import { queueAdmin } from './admin/queues.ts';
import { createBulkThrottle } from './batching/bulkThrottle.ts';
import { createRoundTrips, RANKS } from './batching/roundTrips.ts';
import { dispatcher } from './claim/dispatcher.ts';
import { claiming } from './claim/lease.ts';
import { alarms } from './claim/limits.ts';
import { createLostLeases } from './claim/lostLeases.ts';
import { repeatableClaims } from './claim/repeatable.ts';
import { createCapacity } from './enqueue/capacity.ts';
import { enqueueing } from './enqueue/enqueue.ts';
import { idempotentEnqueue } from './enqueue/idempotency.ts';
import { createGroupHeads } from './groups/heads.ts';
import { createGroupRepair } from './groups/repair.ts';
import { queueIdOf } from './ids.ts';
import { startDuty } from './maintenance/duty.ts';
import { pruneAnswers } from './maintenance/pruneAnswers.ts';
import { pruneJobs } from './maintenance/pruner.ts';
import { pruneWindows } from './maintenance/pruneWindows.ts';
import { expireJobs, promoteScheduled, rescueLeases } from './maintenance/sweeper.ts';
import { databaseClock } from './postgres/clock.ts';
import { isMigrated } from './postgres/migrate.ts';
import type { Database } from './postgres/pool.ts';
import { createSemaphore } from './postgres/semaphore.ts';
import { queueCache } from './queues/cache.ts';
import { createNotifier } from './replicas/notifier.ts';
import { scheduleAdmin } from './schedules/schedules.ts';
import { scheduleTicks } from './schedules/ticker.ts';
import { createFollowUps } from './settle/followUps.ts';
import { settlement as settlementOf } from './settle/verbs.ts';
import { jobWaits } from './waiting/wait.ts';
import { createWaiters } from './waiting/waiters.ts';

const SWEEP_MS = 200;
const RETAIN_MS = 1000;
const STRAYS_MS = 1000;
/** At least so often; it asks for sooner. */
const GROUPS_MS = 60_000;
const SCHEDULES_MS = 1000;
const CLOCK_MS = 10_000;
/** Requests at once that have a transaction each; the pool's other connections serve the others. */
const TRANSACTIONS = 4;

/**
 * The queue, without HTTP: every verb of the contract, and the duties that run beside them. Any number of engines may
 * work on one database.
 */
export async function startEngine(options: {
  db: Database;
  /** Where to LISTEN: a connection of its own, not through a transaction pooler. */
  listenUrl: string;
  log: (error: unknown, message: string) => void;
}) {
  const { db, listenUrl, log } = options;
  const queues = queueCache(db);
  const clock = databaseClock(db);
  const notifier = createNotifier({ db, url: listenUrl, log });
  const waiters = createWaiters({ tell: notifier.finished });
  const rounds = createRoundTrips(db);
  const inTransactionSlot = createSemaphore(TRANSACTIONS);
  const groups = createGroupHeads({ db, joinRoundTrip: rounds(RANKS.advance), queues, notifier, log });
  const { check, enqueue, enqueueWithin } = enqueueing({
    db,
    joinRoundTrip: rounds(RANKS.enqueue),
    queues,
    clock,
    notifier,
    groups,
    admit: createCapacity(db),
  });
  const settlement = settlementOf({
    db,
    joinRoundTrip: rounds(RANKS.settle),
    queues,
    notifier,
    waiters,
    groups,
  });
  const chained = createFollowUps({
    db,
    queues,
    waiters,
    settlement,
    enqueueWithin,
    inTransactionSlot,
    groups,
  });
  const throttle = createBulkThrottle();
  const bulk = bulkVerbs({ db, notifier, throttle, groups });

  const strays = createLostLeases({ db, settlement, log });
  const headless = createGroupRepair({ db, queues, groups, log });
  const { claimFor, rescan } = claiming({
    db,
    lost: strays.claimLost,
    lookAgain: alarms((queue) => dispatch.wake(queue)),
  });
  const dispatch = dispatcher({
    async claimFor(...claim) {
      const shares = await claimFor(...claim);
      if (shares.jobs.some((jobs) => jobs.length > 0)) throttle.served();
      return shares;
    },
    queues,
    joinRoundTrip: rounds(RANKS.claim),
    giveBack: (jobs, name) =>
      name
        ? strays.giveUp([...new Set(jobs.map((job) => queueIdOf(job.id) as number))], name)
        : strays.giveBack(jobs),
    notifier,
  });
  const failed = (error: unknown) => log(error, 'a background duty failed, it will be tried again');
  const safe = repeatableClaims({ db, queues, claim: dispatch.claim, notifier });
  // A database that has just gone again is no reason to give up; the duty below adjusts it then.
  await clock.adjust().catch((error) => log(error, 'the clock is not adjusted yet'));
  await notifier.start({
    here: dispatch.wake,
    coming: dispatch.expect,
    elsewhere(queue) {
      rescan(queue);
      dispatch.wake(queue);
    },
    blocked(queue, group) {
      if (group === undefined) headless.lookAt(queue);
      else void queues.byName(queue).then((found) => found && groups.advance(found.id, [group]), failed);
    },
    ofClaims: safe.heard,
    finished: waiters.wake,
    anywhere: dispatch.wakeAll,
  });

  const sweeping = { db, queues, notifier, waiters, settlement, clock, throttle, groups };
  const duties = [
    startDuty({ everyMs: SWEEP_MS, failed, run: rescueLeases(sweeping) }),
    startDuty({ everyMs: SWEEP_MS, failed, run: promoteScheduled(sweeping) }),
    startDuty({ everyMs: SWEEP_MS, failed, run: expireJobs(sweeping) }),
    startDuty({ everyMs: STRAYS_MS, failed, run: strays.search }),
    startDuty({ everyMs: GROUPS_MS, failed, run: headless.run }),
    startDuty({ everyMs: RETAIN_MS, failed, run: pruneJobs({ db, throttle }) }),
    startDuty({ everyMs: RETAIN_MS, failed, run: pruneAnswers({ db, clock }) }),
    startDuty({ everyMs: RETAIN_MS, failed, run: pruneWindows({ db, clock }) }),
    startDuty({ everyMs: SCHEDULES_MS, failed, run: scheduleTicks({ db, enqueueWithin, log }) }),
    startDuty({ everyMs: CLOCK_MS, failed, run: () => clock.adjust().then(() => false) }),
  ];
  // Their connections are made by then: while the routes are compiled, which on a slow machine takes longer than a
  // connection may take, nothing else is heard, and the database would seem to be away.
  await Promise.all(duties.map((duty) => duty.begun));

  const jobs = jobAdmin({ db, queues, notifier, waiters, settlement, groups });
  const waits = jobWaits({
    db,
    queues,
    waiters,
    get: jobs.get,
    stirred({ name }) {
      rescan(name);
      notifier.ready(name);
    },
  });

  return {
    check,
    enqueue,
    enqueueOnce: idempotentEnqueue({ db, enqueueWithin, inTransactionSlot, closed: waits.closed }),
    claim: safe.claim,
    ack: chained.ack,
    nack: chained.nack,
    release: settlement.release,
    extend: settlement.extend,
    jobs: { ...jobs, wait: waits.wait, waiting: waits.waiting },
    queues: queueAdmin({ db, queues, notifier, bulk }),
    schedules: scheduleAdmin({ db, enqueue }),
    isReady: () => isMigrated(db),

    /** Answers who waits with what there is, and lets nobody wait any more; other verbs go on. */
    stopWaiting(): void {
      dispatch.close();
      waits.close();
    },

    /** Ends the duties and the wake-ups; call it when no verb is running any more. */
    async stop(): Promise<void> {
      dispatch.close();
      waits.close();
      await dispatch.idle();
      await strays.returned();
      headless.stop();
      await Promise.all(duties.map((duty) => duty.stop()));
      await notifier.stop();
    },
  };
}

export type Engine = Awaited<ReturnType<typeof startEngine>>;
