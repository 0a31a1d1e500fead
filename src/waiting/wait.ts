import { jobNotFound } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Ledger } from '../ledger.ts';
import type { WaitRequest } from '../verbs/enqueue.ts';
import { createLookAtAwaited } from './lookAtAwaited.ts';
import { createOpenWaits } from './openWaits.ts';
import { pollEnds } from './poll.ts';
import type { Waiters } from './waiters.ts';
import { createWaitForEnd, type WaitContext } from './waitForEnd.ts';

/** Lets requests wait for the end of jobs. */
export function createJobWaits(
  context: WaitContext & { waiters: Waiters; ledger: Ledger; rest: { isAwake(): boolean } },
) {
  const { ledger, rest, waiters } = context;
  const waitForEnd = createWaitForEnd(context);
  const waits = createOpenWaits({ kind: 'job_waits', wakes: waiters, ledger });
  const poll = pollEnds({
    look: createLookAtAwaited(context),
    isAwake: rest.isAwake,
    failed: waits.fail,
  });

  return {
    /**
     * Returns the job when it is finished, after `wait_seconds`, or when the wait is ended, as it is then.
     * @throws Refusal `job_not_found`, also for a job that is purged meanwhile
     */
    async wait(request: WaitRequest): Promise<Job> {
      const queueId = queueIdOf(request.id);
      if (queueId === undefined) throw jobNotFound(request.id);
      return waits.hold(request, (wait) => waitForEnd(queueId, request, wait));
    },

    /** Notifications may have been lost: looks which of the jobs are finished. */
    look: poll.look,

    closed: waits.closed,
    waiting: waits.waiting,

    close(): void {
      poll.stop();
      waits.close();
    },
  };
}

export type JobWaits = ReturnType<typeof createJobWaits>;
