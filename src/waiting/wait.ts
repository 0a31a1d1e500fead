import { jobNotFound } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Ledger } from '../ledger.ts';
import type { WaitRequest } from '../verbs/enqueue.ts';
import { type OpenWait, openWait } from './openWait.ts';
import { pollWaiters } from './poll.ts';
import type { Waiters } from './waiters.ts';
import { createWaitForEnd, type WaitContext } from './waitForEnd.ts';

/** Lets requests wait for the end of jobs. A waiting request holds no connection to the database. */
export function createJobWaits(
  context: WaitContext & { waiters: Waiters; ledger: Ledger; rest: { isAwake(): boolean } },
) {
  const { db, waiters } = context;
  const waitForEnd = createWaitForEnd(context);
  const waits = new Set<OpenWait>();
  let closed = false;
  context.ledger.count('job_waits', () => waits.size);

  const poll = pollWaiters({
    db,
    waiters,
    isAwake: context.rest.isAwake,
    failed(error) {
      for (const wait of waits) wait.fail(error);
    },
  });

  return {
    /**
     * Returns the job when it is finished, after `wait_seconds`, or when the wait is ended, as it is then.
     * @throws Refusal `job_not_found`, also for a job that is purged meanwhile
     */
    async wait(request: WaitRequest): Promise<Job> {
      const { id, wait_seconds, onHangup } = request;
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      const wait = openWait(wait_seconds * 1000);
      if (closed) wait.end();
      // Before the first look at the job, so that no change in between is missed.
      waiters.add(id, wait.wake);
      waits.add(wait);
      onHangup?.(wait.end);
      try {
        return await waitForEnd(queueId, request, wait);
      } finally {
        wait.close();
        waits.delete(wait);
        waiters.remove(id, wait.wake);
      }
    },

    /** Notifications may have been lost: looks which of the jobs are finished. */
    look: poll.look,

    /** Whether the replica is stopping, so that requests do not wait any more. */
    closed: () => closed,

    /** The number of requests that wait here. */
    waiting: () => waits.size,

    /** Ends all waits. Later requests do not wait. */
    close(): void {
      closed = true;
      poll.stop();
      for (const wait of waits) wait.end();
    },
  };
}

export type JobWaits = ReturnType<typeof createJobWaits>;
