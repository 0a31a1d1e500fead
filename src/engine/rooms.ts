import { createAudit } from '../access/audit.ts';
import { keyAdmin } from '../access/keyAdmin.ts';
import { createKeys } from '../access/keys.ts';
import { createBatches } from '../batches/batches.ts';
import { createCancelJobs } from '../batches/cancelJobs.ts';
import { createCreateBatch } from '../batches/create.ts';
import { createBatchDuty } from '../batches/duty.ts';
import { createExplainBatch } from '../batches/explain.ts';
import { createKnownBatches } from '../batches/known.ts';
import { createBatchWaits } from '../batches/wait.ts';
import { ORDER_IN_TRIP } from '../batching/roundTrip.ts';
import { createCancelJob } from '../changing/cancelJob.ts';
import { createChangeJob } from '../changing/changeJob.ts';
import { createDeleteQueue } from '../changing/deleteQueue.ts';
import { queueAdmin } from '../changing/queues.ts';
import { createRetryJob } from '../changing/retryJob.ts';
import { inOne } from '../claim/claimPlaces.ts';
import { type Claims, claimsIn, createClaims } from '../claim/claims.ts';
import { createDatabaseClaims, type DatabaseClaims } from '../claim/databaseClaims.ts';
import { createCountCache } from '../counting/countCache.ts';
import { createDepths } from '../counting/depths.ts';
import { countingDuty } from '../counting/duty.ts';
import { createMetrics } from '../counting/metrics.ts';
import { createSampler } from '../counting/sampler.ts';
import { createSamples } from '../counting/samples.ts';
import { createCapacity } from '../enqueue/capacity.ts';
import { createEnqueue } from '../enqueue/enqueue.ts';
import { idempotentEnqueue } from '../enqueue/idempotency.ts';
import { createOnceBatcher } from '../enqueue/onceBatcher.ts';
import { createGroupHeads } from '../groups/heads.ts';
import { createNarrowing } from '../groups/narrow.ts';
import { createGroupPause } from '../groups/pause.ts';
import { createGroupRepair } from '../groups/repair.ts';
import { createHistory } from '../history/history.ts';
import { createOnlyDatabase } from '../looking/databases.ts';
import { createJobLooks } from '../looking/jobs.ts';
import { createOverview } from '../looking/overview.ts';
import { createQueueLooks } from '../looking/queues.ts';
import { createWorkers } from '../looking/workers.ts';
import { createSessionDuty } from '../maintenance/sessions.ts';
import { createEndLeases } from '../maintenance/sweeper.ts';
import { createDutyLog } from '../metrics/dutyLog.ts';
import { createLoopLag } from '../metrics/loopLag.ts';
import { operationAdmin } from '../operations/operations.ts';
import { createPurge } from '../operations/purge.ts';
import { createRedrive } from '../operations/redrive.ts';
import { createSendHome } from '../operations/sendHome.ts';
import { createOperationWork } from '../operations/work.ts';
import { createQueueNumbers } from '../queues/numbers.ts';
import { createReceive } from '../relay/receive.ts';
import { createRelay } from '../relay/relay.ts';
import { scheduleAdmin } from '../schedules/schedules.ts';
import { createGuests, type SessionsAtHome } from '../sessions/guests.ts';
import { createSessions } from '../sessions/sessions.ts';
import { createFollowUpBatcher } from '../settle/followUpBatcher.ts';
import { createFollowUps } from '../settle/followUps.ts';
import { createSettleMany } from '../settle/settleMany.ts';
import { createSettlement } from '../settle/verbs.ts';
import { createJobWaits } from '../waiting/wait.ts';
import type { Base } from './base.ts';

/** The rooms that a job goes through: in, out on leases, and to its end. */
function jobRooms(
  base: Base,
  {
    claimsOf,
    sessionsChanged,
    sessionsElsewhere: { atHome, endGuests } = {},
  }: Pick<RoomOptions, 'claimsOf' | 'sessionsChanged' | 'sessionsElsewhere'>,
) {
  const { db, inRoundTrip, inCautiousRoundTrip, crossing } = base;
  const relay = crossing && createRelay({ ...base, crossing });
  const groups = createGroupHeads({ ...base, joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.advance) });
  const enqueue = createEnqueue({
    ...base,
    groups,
    relay,
    capacity: createCapacity(db),
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.enqueue),
  });
  const settlement = createSettlement({
    ...base,
    groups,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.settle),
  });
  const ackWithJobs = createFollowUpBatcher({
    ...base,
    ...enqueue,
    joinRoundTrip: inCautiousRoundTrip(ORDER_IN_TRIP.settle),
  });
  const followUps = createFollowUps({ ...base, ...enqueue, settlement, ackWithJobs, groups });
  const guests = atHome && createGuests({ ...base, home: atHome, ending: sessionsChanged });
  const narrowing = createNarrowing({ ...base, groups });
  const databaseClaims = createDatabaseClaims({
    ...base,
    settlement,
    narrowing,
    guests,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.claim),
  });
  const sessions = createSessions({
    ...base,
    changed: sessionsChanged,
    looking: () => sessionDuty.looking(),
  });
  const claims = claimsIn(
    databaseClaims,
    claimsOf?.(databaseClaims) ?? createClaims({ ...base, places: inOne(databaseClaims), sessions }),
  );
  const jobLooks = createJobLooks({ ...base, claims });
  const waits = createJobWaits({ ...base, getJob: jobLooks.get });
  const cancelJobs = createCancelJobs({ ...base, settlement, groups });
  const knownBatches = createKnownBatches(base);
  const batches = createBatches({ ...base, cancelJobs, knownBatches });
  const sessionDuty = createSessionDuty({
    ...base,
    guests,
    endGuests,
    endLeases: createEndLeases({ ...base, settlement, groups }),
  });
  const insertOnce = createOnceBatcher({
    ...base,
    ...enqueue,
    goAlong: claims.goAlong,
    joinRoundTrip: inCautiousRoundTrip(ORDER_IN_TRIP.enqueue),
  });
  return {
    groups,
    narrowing,
    repair: createGroupRepair({ ...base, groups, narrowing }),
    enqueue,
    relay,
    receive: createReceive({ ...base, ...enqueue, groups }),
    enqueueOnce: idempotentEnqueue({ ...base, ...enqueue, insertOnce, closed: waits.closed }),
    claims,
    sessions,
    guests,
    sessionDuty,
    settlement,
    followUps,
    settleMany: createSettleMany({
      check: enqueue.check,
      ...followUps,
      release: settlement.release,
      extend: settlement.extend,
    }),
    jobLooks,
    waits,
    cancelJob: createCancelJob({ ...base, settlement, groups, getJob: jobLooks.get }),
    retryJob: createRetryJob({ ...base, groups, getJob: jobLooks.get }),
    changeJob: createChangeJob({ ...base, groups, getJob: jobLooks.get }),
    history: createHistory(base),
    batches,
    createBatch: createCreateBatch({ ...base, enqueue }),
    batchDuty: createBatchDuty({ ...base, ...enqueue, relay, cancelJobs }),
    batchWaits: createBatchWaits({ ...base, knownBatches }),
    explainBatch: createExplainBatch({ ...base, get: batches.get }),
  };
}
type JobRooms = ReturnType<typeof jobRooms>;

/** The rooms for whole queues, and for work on many of their jobs. */
function queueRooms(base: Base, jobRooms: JobRooms, operationStarted: () => void) {
  const { db, leaseHorizon } = base;
  const { groups, settlement, enqueue, relay, narrowing, repair } = jobRooms;
  const countCache = createCountCache(db, leaseHorizon.dealtWith);
  const looks = createQueueLooks({ ...base, countCache });
  const purge = createPurge({ ...base, groups });
  const redrive = createRedrive({ ...base, groups });
  const sendHome = createSendHome({ ...base, groups });
  return {
    countCache,
    queueLooks: looks,
    queueAdmin: queueAdmin({ ...base, looks, purge, redrive, sendHome, countCache, narrowing, repair }),
    groupPause: createGroupPause({ ...base, groups, current: looks.current }),
    deleteQueue: createDeleteQueue({ ...base, looks, purge, countCache }),
    queueNumbers: createQueueNumbers(base),
    operationAdmin: operationAdmin({ ...base, current: looks.current, started: operationStarted }),
    operationWork: createOperationWork({ ...base, groups, settlement, relay }),
    schedules: scheduleAdmin({ db, enqueue: enqueue.enqueue }),
  };
}
type QueueRooms = ReturnType<typeof queueRooms>;

/** The rooms that tell numbers. */
function countingRooms(
  base: Base,
  { claims, waits, relay, batchDuty }: JobRooms,
  { countCache, queueLooks, queueNumbers }: QueueRooms,
) {
  const { db, tally, totals, memory, ledger } = base;
  const depths = createDepths({ db, totals, cache: countCache });
  const sampler = createSampler({ db, totals, depths });
  const overview = createOverview({ db, totals, depths });
  const dutyLog = createDutyLog();
  const loopLag = createLoopLag();
  const replica = {
    tally,
    totals,
    memory,
    ledger,
    duties: dutyLog,
    connections: db.connections,
    isUp: db.isUp,
    openClaims: claims.open,
    waitingForJobs: waits.waiting,
    loopLag: loopLag.longest,
    heldSeconds: depths.heldSeconds,
    queueNumbersUsed: queueNumbers.used,
    relayed: relay?.waiting,
    unfinishedBatches: batchDuty.unfinished,
  };
  return {
    dutyLog,
    loopLag,
    count: countingDuty({ totals, depths, sampler }),
    metrics: createMetrics({ tally, totals, depths, replica }),
    overview,
    onlyDatabase: createOnlyDatabase({ db, depths, overview, current: queueLooks.current }),
    samples: createSamples({ db }),
    workers: createWorkers({ db }),
  };
}

/** The rooms that know who may do what, and who did. */
function accessRooms(base: Base, logAct: (fields: Record<string, unknown>, message: string) => void) {
  const { db, clock, rest, log } = base;
  const keys = createKeys({ db, clock, isResting: () => !rest.isAwake() });
  return {
    keys,
    keyAdmin: keyAdmin({ db, changed: keys.refresh }),
    audit: createAudit({ db, log, logAct }),
  };
}

/** What a database has to do with the sessions of the others, where there are several. */
export interface SessionsElsewhere {
  /** Beside home. */
  atHome?: SessionsAtHome;
  /** In home: ends the guests of these sessions. Returns those sessions that no database needs to hear of any more. */
  endGuests?(sessions: string[]): Promise<string[]>;
}

export interface RoomOptions {
  /** Is given a line for each act that needs the scope `admin`. */
  logAct?: (fields: Record<string, unknown>, message: string) => void;
  operationStarted(): void;
  /** A session was opened here, or it ends, or its connection has ended. */
  sessionsChanged?: (() => void) | undefined;
  sessionsElsewhere?: SessionsElsewhere | undefined;
  /** The claims of all databases of a replica, where there are several. This one is added to them. */
  claimsOf?: ((own: DatabaseClaims) => Claims) | undefined;
}

/** All rooms. Each takes from the ones before it. */
export function createRooms(
  base: Base,
  { logAct = () => undefined, operationStarted, ...options }: RoomOptions,
) {
  const forJobs = jobRooms(base, options);
  const forQueues = queueRooms(base, forJobs, operationStarted);
  return {
    ...forJobs,
    ...forQueues,
    ...countingRooms(base, forJobs, forQueues),
    ...accessRooms(base, logAct),
  };
}

export type Rooms = ReturnType<typeof createRooms>;
