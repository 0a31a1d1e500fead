import { isFinished, type Job, type JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { WaitRequest } from '../verbs/enqueue.ts';
import type { JobLook } from '../verbs/jobs.ts';
import { createLook } from './look.ts';
import type { OpenWait } from './openWait.ts';
import type { SoleWaiters } from './soleWaiters.ts';
import { KEPT_SECONDS } from './waiters.ts';

const noteWaiter = prepared('waiting/await', row<{ state: JobState }>());

/**
 * A client is a sole waiter for this time. Then it makes the job's `awaited_until` later, as all others do. The first
 * one is KEPT_SECONDS after the enqueue: longer than this time, a slow statement before it and another one after it.
 */
const SOLE_MS = 2000;

export interface WaitContext {
  db: Db;
  queues: Queues;
  soleWaiters: SoleWaiters;
  notifier: Notifier;
  getJob(look: JobLook): Promise<Job>;
}

/** How one request waits. */
export function createWaitForEnd(context: WaitContext) {
  const { db, queues, soleWaiters, notifier } = context;
  const look = createLook(context);

  /** Notes in the job that a client waits, so that it is kept when it finishes. False: it is finished or gone. */
  async function announce(queueId: number, id: string, seconds: number): Promise<boolean> {
    const asked = { queue_id: queueId, id, seconds: seconds + KEPT_SECONDS };
    const [row] = await db.query(noteWaiter, asked);
    const queue = row?.state === 'ready' ? await queues.byId(queueId) : undefined;
    // The statement locked the ready job for a moment. A claim may have passed over it.
    if (queue) notifier.ready(queue.name);
    return row !== undefined;
  }

  /** Waits as the only one. Returns the job, if an ack handed it over. */
  async function waitAlone(id: string, wait: OpenWait): Promise<Job | undefined> {
    const waiter = soleWaiters.add(id, wait.wake);
    const timer = setTimeout(wait.wake, SOLE_MS);
    await wait.woken();
    clearTimeout(timer);
    await waiter.leave();
    if (!waiter.job) wait.throwIfFailed();
    return waiter.job;
  }

  async function lookUntilFinished(asked: JobLook, wait: OpenWait): Promise<Job> {
    for (;;) {
      wait.throwIfFailed();
      const job = await look(asked);
      if (wait.isOver() || isFinished(job.state)) return job;
      await wait.woken();
    }
  }

  return async function waitForEnd(queueId: number, request: WaitRequest, wait: OpenWait): Promise<Job> {
    const { id, wait_seconds, from, announced = false, sole = false } = request;
    const isAlone = sole && !wait.isOver();
    const handedOver = isAlone ? await waitAlone(id, wait) : undefined;
    if (handedOver) return handedOver;
    // Nothing is to be noted where the enqueue has done so, and where the request waits no longer.
    const isNoted = !isAlone && (announced || wait.isOver());
    const isUnfinished = isNoted || (await announce(queueId, id, wait_seconds));
    if (isUnfinished) await wait.woken();
    return lookUntilFinished({ id, from }, wait);
  };
}
