import { setImmediate as nextLoop } from 'node:timers/promises';
import { createAudit } from './access/audit.ts';
import { guard } from './access/guard.ts';
import { keyAdmin } from './access/keyAdmin.ts';
import { createKeys } from './access/keys.ts';
import { needOf } from './access/needs.ts';
import { createNewQueueLimit } from './access/newQueues.ts';
import { createBulkThrottle } from './batching/bulkThrottle.ts';
import { createRoundTrips, ORDER_IN_TRIP } from './batching/roundTrips.ts';
import { createChangeJob } from './changing/changeJob.ts';
import { queueAdmin } from './changing/queues.ts';
import { createClaims } from './claim/claims.ts';
import { createSettleAndClaim } from './claim/settleAndClaim.ts';
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
} from './concerns.ts';
import { METRICS_QUEUES } from './config.ts';
import { createCountCache } from './counting/countCache.ts';
import { createDepths } from './counting/depths.ts';
import { countingDuty } from './counting/duty.ts';
import { createMetrics } from './counting/metrics.ts';
import { createSampler } from './counting/sampler.ts';
import { createSamples } from './counting/samples.ts';
import { createCapacity } from './enqueue/capacity.ts';
import { createEnqueue } from './enqueue/enqueue.ts';
import { idempotentEnqueue } from './enqueue/idempotency.ts';
import { createOnceBatcher } from './enqueue/onceBatcher.ts';
import { createArrivals } from './floor/arrivals.ts';
import { createGroupHeads } from './groups/heads.ts';
import { createGroupRepair } from './groups/repair.ts';
import { createHistory } from './history/history.ts';
import { createLeaseTimes } from './leaseTimes.ts';
import { createLedger } from './ledger.ts';
import { jobAdmin } from './looking/jobs.ts';
import { createOverview } from './looking/overview.ts';
import { createLooks, createSharedLooks } from './looks.ts';
import { dueLook } from './maintenance/dueLook.ts';
import { startDuties } from './maintenance/duties.ts';
import { createRest, type Times as RestTimes } from './maintenance/rest.ts';
import { createScanHorizon } from './maintenance/scanHorizon.ts';
import { createMemory, type Memory } from './memory.ts';
import { createDutyLog } from './metrics/dutyLog.ts';
import { createLoopLag } from './metrics/loopLag.ts';
import { createTally } from './metrics/tally.ts';
import { createTotals } from './metrics/totals.ts';
import { operationAdmin } from './operations/operations.ts';
import { createPurge } from './operations/purge.ts';
import { createRedrive } from './operations/redrive.ts';
import { createOperationWork } from './operations/work.ts';
import { databaseClock } from './postgres/clock.ts';
import { whyNotReady } from './postgres/migrate.ts';
import type { OutageLog } from './postgres/outageLog.ts';
import type { Database } from './postgres/pool.ts';
import { createSemaphore } from './postgres/semaphore.ts';
import { queueCache } from './queues/cache.ts';
import { createQueueNumbers } from './queues/numbers.ts';
import { createNotifier } from './replicas/notifier.ts';
import { scheduleAdmin } from './schedules/schedules.ts';
import { createFollowUpBatcher } from './settle/followUpBatcher.ts';
import { createFollowUps } from './settle/followUps.ts';
import { createSettleMany } from './settle/settleMany.ts';
import { createSettlement } from './settle/verbs.ts';
import { traceVerbs } from './tracing/verbs.ts';
import type { IdempotentEnqueue, NewJob } from './verbs/enqueue.ts';
import type { Ack, Nack } from './verbs/settle.ts';
import type { VerbName, Verbs } from './verbs.ts';
import { createSoleWaiters } from './waiting/soleWaiters.ts';
import { createJobWaits } from './waiting/wait.ts';
import { createWaiters } from './waiting/waiters.ts';

/** Looks at once, over all kinds. A page of jobs may have 16 MiB. */
const LOOKS = 2;

/** Verbs that commit more than once. */
const SEVERAL_TRANSACTIONS: readonly VerbName[] = [
  'configureQueue',
  'pauseQueue',
  'resumeQueue',
  'deleteQueue',
  'purgeQueue',
  'redriveQueue',
];

/** Verbs whose calls the ledger does not count: the quick ones, which have kinds of their own there, and the one that asks for the count. */
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
 * The calls of several transactions that are answered in time all the same. Purges, redrives and deletions of queues may
 * take as long as they need, and so does a client that waits for its job.
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
  getSamples: always,
  getOperation: always,
  listOperations: always,
  getSchedule: always,
  listSchedules: always,
  listKeys: always,
  listAudit: always,
  configureQueue: always,
  pauseQueue: always,
  resumeQueue: always,
  putSchedule: always,
  triggerSchedule: always,
};

export interface EngineOptions {
  db: Database;
  /** The memory budget of this replica. */
  memory?: Memory;
  /** How many queues have metrics of their own. */
  metricsQueues?: number | undefined;
  /** New queues of a caller in a second. 0: any number. */
  newQueuesPerSecond?: number | undefined;
  /** Where to LISTEN: a connection of its own, not through a transaction pooler. */
  listenUrl: string;
  /** Hears when this replica stops hearing notifications, and when it hears them again. */
  listenState?: OutageLog | undefined;
  log(error: unknown, message: string): void;
  /** Whether there is an SDK that takes spans. */
  traces?: boolean | undefined;
  /** Is given a line for each call of a verb, where somebody wants to read them. */
  logCall?: ((fields: object, message: string) => void) | undefined;
  /** When its duties rest. */
  restTimes?: Partial<RestTimes> | undefined;
  /** Is given a line for each act that needs the scope `admin`. */
  logAct?: (fields: Record<string, unknown>, message: string) => void;
}

/**
 * The queue, without HTTP: every verb of the contract, and the duties that run beside them. Any number of engines may
 * work on one database. Verbs throw a Refusal (errors.ts) for a request that is not carried out.
 */
export async function startEngine(options: EngineOptions) {
  const {
    db,
    memory = createMemory(),
    metricsQueues = METRICS_QUEUES,
    listenUrl,
    log,
    logCall,
    traces,
  } = options;
  const { logAct = () => undefined } = options;
  const clock = databaseClock(db);
  const tally = createTally(clock.now);
  const totals = createTotals({ db, tally, most: metricsQueues });
  const leaseHorizon = createScanHorizon(clock);
  const scheduledHorizon = createScanHorizon(clock);
  const countCache = createCountCache(db, leaseHorizon.dealtWith);
  const depths = createDepths({ db, totals, cache: countCache });
  const dutyLog = createDutyLog();
  const loopLag = createLoopLag();
  const ledger = createLedger();
  ledger.count('lock_waits', db.heldByLocks);
  const notifier = createNotifier({ db, url: listenUrl, state: options.listenState, log });
  const rest = createRest({
    look: dueLook({ db, notifier, leaseHorizon, scheduledHorizon }),
    tell: notifier.active,
    hears: notifier.hears,
    log,
    times: options.restTimes,
  });
  const queues = queueCache(db, notifier.opened);
  const queueNumbers = createQueueNumbers({ db });
  const waiters = createWaiters({ tell: notifier.finished, ledger });
  const soleWaiters = createSoleWaiters({ ledger });
  const throttle = createBulkThrottle();
  const shareReadiness = createSharedLooks();
  const inRoundTrip = createRoundTrips(db, tally);
  const inCautiousRoundTrip = createRoundTrips(db, tally, { isCautious: true });
  const arrivals = createArrivals(db);
  const leaseEnds = createLeaseTimes();
  const common = { db, queues, notifier, arrivals, tally, ledger, log };

  const groups = createGroupHeads({ ...common, joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.advance) });
  const repair = createGroupRepair({ ...common, groups });
  const { check, enqueue, enqueueWithin, enqueueTogether, newId, inserted } = createEnqueue({
    ...common,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.enqueue),
    clock,
    groups,
    capacity: createCapacity(db),
  });
  const settlement = createSettlement({
    ...common,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.settle),
    waiters,
    soleWaiters,
    groups,
    leaseEnds,
  });
  const ackWithJobs = createFollowUpBatcher({
    ...common,
    joinRoundTrip: inCautiousRoundTrip(ORDER_IN_TRIP.settle),
    newId,
    inserted,
  });
  const followUps = createFollowUps({
    ...common,
    settlement,
    enqueueWithin,
    enqueueTogether,
    ackWithJobs,
    groups,
  });
  const claims = createClaims({
    ...common,
    memory,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.claim),
    settlement,
    leaseEnds,
  });
  const jobs = jobAdmin({ ...common, waiters, settlement, groups, claims });
  const waits = createJobWaits({ ...common, waiters, soleWaiters, getJob: jobs.get });
  const insertOnce = createOnceBatcher({
    ...common,
    joinRoundTrip: inCautiousRoundTrip(ORDER_IN_TRIP.enqueue),
    newId,
    inserted,
    goAlong: claims.goAlong,
  });
  const enqueueOnce = idempotentEnqueue({
    db,
    enqueueWithin,
    enqueueTogether,
    insertOnce,
    ledger,
    closed: waits.closed,
  });
  const settleMany = createSettleMany({
    check,
    ...followUps,
    release: settlement.release,
    extend: settlement.extend,
  });
  const purge = createPurge({ db, throttle, groups });
  const admin = queueAdmin({
    ...common,
    purge,
    redrive: createRedrive({ ...common, throttle, groups }),
    countCache,
  });
  const operations = operationAdmin({ db, queues, clock, started: () => duties.workOnOperations() });
  const schedules = scheduleAdmin({ db, enqueue });
  const keys = createKeys({ db, clock, isResting: () => !rest.isAwake() });
  const keyring = keyAdmin({ db, changed: keys.refresh });
  const audit = createAudit({ db, log, logAct });
  const replica = {
    tally,
    totals,
    memory,
    ledger,
    duties: dutyLog,
    connections: db.connections,
    serves: db.serves,
    openClaims: claims.open,
    waitingForJobs: waits.waiting,
    loopLag: loopLag.longest,
    heldSeconds: depths.heldSeconds,
    queueNumbersUsed: queueNumbers.used,
  };

  const verbs: Omit<Verbs, 'settleAndClaim'> = {
    enqueue: ({ jobs, at, by }) => enqueue(jobs, at, by),
    enqueueOnce,
    waitForEnqueued: waits.wait,

    claim: claims.claim,

    ack: (item) => followUps.ack(item, item.at),
    nack: (item) => followUps.nack(item, item.at),
    release: settlement.release,
    extend: settlement.extend,
    settle: settleMany,

    getJob: jobs.get,
    waitForJob: waits.wait,
    listJobs: jobs.list,
    explainJob: ({ id }) => jobs.explain(id),
    getJobHistory: createHistory({ db, queues }),
    cancelJob: jobs.cancel,
    retryJob: jobs.retry,
    changeJob: createChangeJob({ ...common, clock, groups, getJob: jobs.get }),

    getQueue: admin.get,
    listQueues: admin.list,
    explainQueue: admin.explain,
    getMetrics: createMetrics({ tally, totals, depths, replica }),
    getOverview: createOverview({ totals, depths }),
    getSamples: createSamples({ db }),
    configureQueue: admin.configure,
    pauseQueue: admin.pause,
    resumeQueue: admin.resume,
    deleteQueue: admin.remove,
    purgeQueue: admin.purge,
    redriveQueue: admin.redrive,

    startOperation: operations.start,
    getOperation: operations.get,
    listOperations: operations.list,
    stopOperation: operations.stop,

    getSchedule: schedules.get,
    listSchedules: schedules.list,
    putSchedule: schedules.put,
    deleteSchedule: schedules.remove,
    triggerSchedule: schedules.trigger,

    listKeys: keyring.list,
    createKey: keyring.create,
    revokeKey: keyring.revoke,
    rotateKey: keyring.rotate,
    listAudit: audit.list,
  };
  const concerns: Concern[] = [
    countCalls(ledger, UNCOUNTED),
    keepAwake(rest, makesDue),
    noteServedClaims(() => {
      throttle.served();
      rest.active();
    }),
    unknownWhenBroken(SEVERAL_TRANSACTIONS),
    refusedWhenSlow(IN_TIME),
    shareLooks(isLook, createLooks(createSemaphore(LOOKS))),
  ];
  if (logCall) concerns.unshift(logCalls(logCall));
  if (traces) concerns.unshift(traceVerbs());

  // A database that has just gone again is no reason to give up: a duty adjusts the clock later.
  await clock.adjust().catch((error) => log(error, 'the clock is not adjusted yet'));
  await notifier.start({
    here: claims.wake,
    coming: claims.expect,
    elsewhere: claims.wake,
    unnoticed: claims.lookAt,
    blocked: repair.blocked,
    replaced: claims.replaced,
    finished: waiters.wake,
    anywhere() {
      claims.wakeAll();
      rest.heardActive();
    },
    active: rest.heardActive,
    looked: rest.heardLook,
    keysChanged: () => void keys.refresh().catch((error) => log(error, 'the access keys were not read')),
  });
  const duties = startDuties({
    ...common,
    waiters,
    settlement,
    clock,
    leaseHorizon,
    scheduledHorizon,
    rest,
    throttle,
    groups,
    repair,
    claims,
    keys,
    enqueueWithin,
    count: countingDuty({ totals, depths, sampler: createSampler({ db, totals, depths }) }),
    queueNumbers,
    operations: createOperationWork({ ...common, waiters, settlement, throttle, groups }),
    dutyLog,
  });
  // The duties have their connections by then. While the routes are compiled, which takes long on a slow machine, nothing
  // else is heard: a connection would time out, and the database would seem to be away.
  await duties.begun;

  /** Answers every request that waits with what there is, and lets none wait any more. Other verbs go on. */
  function stopWaiting(): void {
    claims.close();
    waits.close();
  }

  const wrapped = withConcerns(verbs, concerns);
  const all: Verbs = { ...wrapped, settleAndClaim: createSettleAndClaim({ ...wrapped, leaseEnds }) };

  return {
    ...all,

    /** The verbs as a caller may use them. */
    ...guard(all, queues, audit, createNewQueueLimit(queues, options.newQueuesPerSecond ?? 0)),

    /** The access keys, as this replica knows them. */
    keys,

    /** Why enqueues would fail now, or a moment ago: anybody may ask. Undefined: they would not. */
    whyNotReady: () => shareReadiness('', () => whyNotReady(db)),

    /** Metrics of thousands of queues are written one answer at a time, and equal ones that wait once. */
    inMetricsSlot: createLooks(createSemaphore(1)),

    /** The memory budget of this replica. */
    memory,

    /** What requests hold of this replica now. */
    ledger,

    /** How many requests wait here for the end of a job. */
    waitingForJobs: waits.waiting,

    stopWaiting,

    /** Ends the duties and the notifications. Call it when no verb is running any more. */
    async stop(): Promise<void> {
      stopWaiting();
      // Connections of consumers that hung up may be closing still. Node tells of that at the end of a loop.
      for (let loops = 0; loops < 2; loops++) await nextLoop();
      await claims.idle();
      await duties.stop();
      await keys.noteUse().catch((error) => log(error, 'the last use of access keys was not noted'));
      await audit.idle();
      // What could not be given back at once would stay leased until it runs out.
      await claims.giveBackLost().catch((error) => log(error, 'jobs of lost claims were not given back'));
      if (tally.hasCounts())
        await totals.flush().catch((error) => log(error, 'the last second was not counted'));
      loopLag.stop();
      await notifier.stop();
    },
  };
}

export type RunningEngine = Awaited<ReturnType<typeof startEngine>>;
