import { bulkVerbs } from './admin/bulk.ts';
import { jobDesk } from './admin/jobs.ts';
import { queueAdmin } from './admin/queues.ts';
import { bulkPace } from './batching/bulkThrottle.ts';
import { createRounds, RANKS } from './batching/roundTrips.ts';
import { dispatcher } from './claim/dispatcher.ts';
import { claiming } from './claim/lease.ts';
import { alarms } from './claim/limits.ts';
import { strayLeases } from './claim/lostLeases.ts';
import { safeClaims } from './claim/repeatable.ts';
import { admission } from './enqueue/capacity.ts';
import { enqueueing } from './enqueue/enqueue.ts';
import { onceByKey } from './enqueue/idempotency.ts';
import { groupTurns } from './groups/heads.ts';
import { headlessGroups } from './groups/repair.ts';
import { queueIdOf } from './ids.ts';
import { startDuty } from './maintenance/duty.ts';
import { forgetAnswers } from './maintenance/pruneAnswers.ts';
import { forgetOutlived } from './maintenance/pruner.ts';
import { forgetWindows } from './maintenance/pruneWindows.ts';
import { buryExpired, promoteDue, reviveExpired } from './maintenance/sweeper.ts';
import { databaseClock } from './postgres/clock.ts';
import { isMigrated } from './postgres/migrate.ts';
import type { Database } from './postgres/pool.ts';
import { createGate } from './postgres/semaphore.ts';
import { queueCache } from './queues/cache.ts';
import { wakeUps } from './replicas/notifier.ts';
import { scheduleDesk } from './schedules/schedules.ts';
import { scheduleTicks } from './schedules/ticker.ts';
import { chaining } from './settle/followUps.ts';
import { settlement as settlementOf } from './settle/verbs.ts';
import { jobWaits } from './waiting/wait.ts';
import { awaitedJobs } from './waiting/waiters.ts';

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
  const wakes = wakeUps({ db, url: listenUrl, log });
  const awaited = awaitedJobs({ tell: wakes.finished });
  const rounds = createRounds(db);
  const throughGate = createGate(TRANSACTIONS);
  const groups = groupTurns({ db, join: rounds(RANKS.advance), queues, wakes, log });
  const { check, enqueue, enqueueWithin } = enqueueing({
    db,
    join: rounds(RANKS.enqueue),
    queues,
    clock,
    wakes,
    groups,
    admit: admission(db),
  });
  const settlement = settlementOf({ db, join: rounds(RANKS.settle), queues, wakes, awaited, groups });
  const chained = chaining({ db, queues, awaited, settlement, enqueueWithin, throughGate, groups });
  const pace = bulkPace();
  const bulk = bulkVerbs({ db, wakes, pace, groups });

  const strays = strayLeases({ db, settlement, log });
  const headless = headlessGroups({ db, queues, groups, log });
  const { claimFor, doubt } = claiming({
    db,
    lost: strays.claimLost,
    lookAgain: alarms((queue) => dispatch.wake(queue)),
  });
  const dispatch = dispatcher({
    async claimFor(...claim) {
      const shares = await claimFor(...claim);
      if (shares.jobs.some((jobs) => jobs.length > 0)) pace.served();
      return shares;
    },
    queues,
    join: rounds(RANKS.claim),
    giveBack: (jobs, name) =>
      name
        ? strays.giveUp([...new Set(jobs.map((job) => queueIdOf(job.id) as number))], name)
        : strays.giveBack(jobs),
    wakes,
  });
  const failed = (error: unknown) => log(error, 'a background duty failed, it will be tried again');
  const safe = safeClaims({ db, queues, claim: dispatch.claim, wakes });
  // A database that has just gone again is no reason to give up; the duty below adjusts it then.
  await clock.adjust().catch((error) => log(error, 'the clock is not adjusted yet'));
  await wakes.start({
    here: dispatch.wake,
    coming: dispatch.expect,
    elsewhere(queue) {
      doubt(queue);
      dispatch.wake(queue);
    },
    blocked(queue, group) {
      if (group === undefined) headless.lookAt(queue);
      else void queues.byName(queue).then((found) => found && groups.advance(found.id, [group]), failed);
    },
    ofClaims: safe.heard,
    finished: awaited.wake,
    anywhere: dispatch.wakeAll,
  });

  const sweeping = { db, queues, wakes, awaited, settlement, clock, pace, groups };
  const duties = [
    startDuty({ everyMs: SWEEP_MS, failed, run: reviveExpired(sweeping) }),
    startDuty({ everyMs: SWEEP_MS, failed, run: promoteDue(sweeping) }),
    startDuty({ everyMs: SWEEP_MS, failed, run: buryExpired(sweeping) }),
    startDuty({ everyMs: STRAYS_MS, failed, run: strays.search }),
    startDuty({ everyMs: GROUPS_MS, failed, run: headless.run }),
    startDuty({ everyMs: RETAIN_MS, failed, run: forgetOutlived({ db, pace }) }),
    startDuty({ everyMs: RETAIN_MS, failed, run: forgetAnswers({ db, clock }) }),
    startDuty({ everyMs: RETAIN_MS, failed, run: forgetWindows({ db, clock }) }),
    startDuty({ everyMs: SCHEDULES_MS, failed, run: scheduleTicks({ db, enqueueWithin, log }) }),
    startDuty({ everyMs: CLOCK_MS, failed, run: () => clock.adjust().then(() => false) }),
  ];
  // Their connections are made by then: while the routes are compiled, which on a slow machine takes longer than a
  // connection may take, nothing else is heard, and the database would seem to be away.
  await Promise.all(duties.map((duty) => duty.begun));

  const jobs = jobDesk({ db, queues, wakes, awaited, settlement, groups });
  const waits = jobWaits({
    db,
    queues,
    awaited,
    get: jobs.get,
    stirred({ name }) {
      doubt(name);
      wakes.ready(name);
    },
  });

  return {
    check,
    enqueue,
    enqueueOnce: onceByKey({ db, enqueueWithin, throughGate, closed: waits.closed }),
    claim: safe.claim,
    ack: chained.ack,
    nack: chained.nack,
    release: settlement.release,
    extend: settlement.extend,
    jobs: { ...jobs, wait: waits.wait, waiting: waits.waiting },
    queues: queueAdmin({ db, queues, wakes, bulk }),
    schedules: scheduleDesk({ db, enqueue }),
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
      await wakes.stop();
    },
  };
}

export type Engine = Awaited<ReturnType<typeof startEngine>>;
