import type { Verbs } from '../verbs.ts';
import type { Rooms } from './rooms.ts';

/** Which room fulfils which verb. `settleAndClaim` is missing: it calls two of them (around.ts). */
export function verbsOf(rooms: Rooms): Omit<Verbs, 'settleAndClaim'> {
  const { enqueue, claims, followUps, settlement, jobLooks, waits, batches } = rooms;
  const { queueLooks, queueAdmin, operationAdmin, schedules, keyAdmin } = rooms;
  return {
    enqueue: ({ jobs, at, by }) => enqueue.enqueue(jobs, at, by),
    enqueueOnce: rooms.enqueueOnce,
    waitForEnqueued: waits.wait,

    claim: claims.claim,

    ack: (item) => followUps.ack(item, item.at),
    nack: (item) => followUps.nack(item, item.at),
    release: settlement.release,
    extend: settlement.extend,
    settle: rooms.settleMany,

    getJob: jobLooks.get,
    waitForJob: waits.wait,
    listJobs: jobLooks.list,
    explainJob: ({ id }) => jobLooks.explain(id),
    getJobHistory: rooms.history,
    cancelJob: rooms.cancelJob,
    retryJob: rooms.retryJob,
    changeJob: rooms.changeJob,

    getQueue: queueLooks.get,
    listQueues: queueLooks.list,
    explainQueue: queueLooks.explain,
    getQueueErrors: queueLooks.errors,
    listWorkers: rooms.workers,
    getMetrics: rooms.metrics,
    getOverview: rooms.overview,
    getSamples: rooms.samples,
    configureQueue: queueAdmin.configure,
    pauseQueue: queueAdmin.pause,
    resumeQueue: queueAdmin.resume,
    pauseGroup: rooms.groupPause.pause,
    resumeGroup: rooms.groupPause.resume,
    deleteQueue: rooms.deleteQueue,
    purgeQueue: queueAdmin.purge,
    redriveQueue: queueAdmin.redrive,

    startOperation: operationAdmin.start,
    getOperation: operationAdmin.get,
    listOperations: operationAdmin.list,
    stopOperation: operationAdmin.stop,

    createBatch: rooms.createBatch,
    getBatch: batches.get,
    waitForBatch: rooms.batchWaits.wait,
    listBatches: batches.list,
    explainBatch: rooms.explainBatch,
    closeBatch: batches.close,
    cancelBatch: batches.cancel,

    holdSession: rooms.sessions.hold,

    getSchedule: schedules.get,
    listSchedules: schedules.list,
    putSchedule: schedules.put,
    deleteSchedule: schedules.remove,
    triggerSchedule: schedules.trigger,

    listDatabases: rooms.onlyDatabase.list,
    configureDatabase: rooms.onlyDatabase.configure,
    relocateQueue: rooms.onlyDatabase.relocate,

    listKeys: keyAdmin.list,
    createKey: keyAdmin.create,
    revokeKey: keyAdmin.revoke,
    rotateKey: keyAdmin.rotate,
    listAudit: rooms.audit.list,
  };
}
