import { queueAdmin } from './admin.ts';
import { bulkVerbs } from './bulk.ts';
import { claiming } from './claiming.ts';
import { databaseClock } from './clock.ts';
import type { Database } from './db.ts';
import { dispatcher } from './dispatch.ts';
import { forgetAnswers } from './duties/answers.ts';
import { startDuty } from './duties/duty.ts';
import { forgetOutlived } from './duties/retain.ts';
import { scheduleTicks } from './duties/schedule.ts';
import { strayLeases } from './duties/strays.ts';
import { promoteDue, reviveExpired } from './duties/sweep.ts';
import { enqueueing } from './enqueue.ts';
import { onceByKey } from './idempotency.ts';
import { jobDesk } from './jobs.ts';
import { alarms } from './limits.ts';
import { isMigrated } from './migrate.ts';
import { bulkPace } from './pace.ts';
import { queueCache } from './queues.ts';
import { admission } from './room.ts';
import { createRounds, RANKS } from './rounds.ts';
import { scheduleDesk } from './schedules.ts';
import { settlement as settlementOf } from './settle.ts';
import { wakeUps } from './wakes.ts';

const SWEEP_MS = 200;
const RETAIN_MS = 1000;
const STRAYS_MS = 1000;
const SCHEDULES_MS = 1000;
const CLOCK_MS = 10_000;

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
  const rounds = createRounds(db);
  const { enqueue, enqueueWithin } = enqueueing({
    db,
    join: rounds(RANKS.enqueue),
    queues,
    clock,
    wakes,
    admit: admission(db),
  });
  const settlement = settlementOf({ db, join: rounds(RANKS.settle), queues, wakes });
  const pace = bulkPace();
  const bulk = bulkVerbs({ db, wakes, pace });

  const strays = strayLeases({ db, settlement, log });
  const { claimFor, doubt } = claiming({
    db,
    lost: strays.claimLost,
    lookAgain: alarms((queue) => dispatch.wake(queue)),
  });
  const dispatch = dispatcher({
    async claimFor(...claim) {
      const shares = await claimFor(...claim);
      if (shares.some((jobs) => jobs.length > 0)) pace.served();
      return shares;
    },
    queues,
    join: rounds(RANKS.claim),
    giveBack: strays.giveBack,
    wakes,
  });
  // A database that has just gone again is no reason to give up; the duty below adjusts it then.
  await clock.adjust().catch((error) => log(error, 'the clock is not adjusted yet'));
  await wakes.start({
    here: dispatch.wake,
    coming: dispatch.expect,
    elsewhere(queue) {
      doubt(queue);
      dispatch.wake(queue);
    },
    anywhere: dispatch.wakeAll,
  });

  const failed = (error: unknown) => log(error, 'a background duty failed, it will be tried again');
  const sweeping = { db, queues, wakes, settlement, clock, pace };
  const duties = [
    startDuty({ everyMs: SWEEP_MS, failed, run: reviveExpired(sweeping) }),
    startDuty({ everyMs: SWEEP_MS, failed, run: promoteDue(sweeping) }),
    startDuty({ everyMs: STRAYS_MS, failed, run: strays.search }),
    startDuty({ everyMs: RETAIN_MS, failed, run: forgetOutlived({ db, pace }) }),
    startDuty({ everyMs: RETAIN_MS, failed, run: forgetAnswers({ db, clock }) }),
    startDuty({ everyMs: SCHEDULES_MS, failed, run: scheduleTicks({ db, enqueueWithin, log }) }),
    startDuty({ everyMs: CLOCK_MS, failed, run: () => clock.adjust().then(() => false) }),
  ];
  // Their connections are made by then: while the routes are compiled, which on a slow machine takes longer than a
  // connection may take, nothing else is heard, and the database would seem to be away.
  await Promise.all(duties.map((duty) => duty.begun));

  return {
    enqueue,
    enqueueOnce: onceByKey({ db, enqueueWithin }),
    claim: dispatch.claim,
    ack: settlement.ack,
    nack: settlement.nack,
    release: settlement.release,
    extend: settlement.extend,
    jobs: jobDesk({ db, queues, wakes, settlement }),
    queues: queueAdmin({ db, queues, wakes, bulk }),
    schedules: scheduleDesk({ db, enqueue }),
    isReady: () => isMigrated(db),

    /** Answers waiting claims with what they have, and lets later ones wait no more; other verbs go on. */
    stopWaiting: dispatch.close,

    /** Ends the duties and the wake-ups; call it when no verb is running any more. */
    async stop(): Promise<void> {
      dispatch.close();
      await dispatch.idle();
      await strays.returned();
      await Promise.all(duties.map((duty) => duty.stop()));
      await wakes.stop();
    },
  };
}

export type Engine = Awaited<ReturnType<typeof startEngine>>;
