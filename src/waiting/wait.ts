import { jobNotFound } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Job, JobState } from '../job.ts';
import { isFinished } from '../job.ts';
import type { Ledger } from '../ledger.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { WaitRequest } from '../verbs/enqueue.ts';
import type { JobLook } from '../verbs/jobs.ts';
import { createBell } from './bell.ts';
import { createLook } from './look.ts';
import { pollWaiters } from './poll.ts';
import type { SoleWaiters } from './soleWaiters.ts';
import { KEPT_SECONDS, type Waiters } from './waiters.ts';

const noteWaiter = prepared('waiting/await', row<{ state: JobState }>());

/**
 * A client is a sole waiter for this time. Then it makes the job's `awaited_until` later, as all others do. The first one is
 * KEPT_SECONDS after the enqueue: longer than this time, a slow statement before it and another one after it.
 */
const SOLE_MS = 2000;

interface OpenWait {
  /** Ends the wait: the request looks at its job once more and is answered. */
  end(): void;
  fail(error: unknown): void;
}

/** Lets requests wait for the end of jobs. A waiting request holds no connection to the database. */
export function createJobWaits(context: {
  db: Db;
  queues: Queues;
  waiters: Waiters;
  soleWaiters: SoleWaiters;
  notifier: Notifier;
  ledger: Ledger;
  getJob(look: JobLook): Promise<Job>;
}) {
  const { db, queues, waiters, soleWaiters, notifier } = context;
  const look = createLook(context);
  const waits = new Set<OpenWait>();
  let closed = false;
  context.ledger.count('job_waits', () => waits.size);

  const poll = pollWaiters({
    db,
    waiters,
    failed(error) {
      for (const wait of waits) wait.fail(error);
    },
  });

  /** Notes in the job that a client waits, so that it is kept when it finishes. False: it is finished or gone. */
  async function announce(queueId: number, id: string, seconds: number): Promise<boolean> {
    const asked = { queue_id: queueId, id, seconds: seconds + KEPT_SECONDS };
    const [row] = await db.query(noteWaiter, asked);
    const queue = row?.state === 'ready' ? await queues.byId(queueId) : undefined;
    // The statement locked the ready job for a moment. A claim may have passed over it.
    if (queue) notifier.ready(queue.name);
    return row !== undefined;
  }

  return {
    /**
     * Returns the job when it is finished, after `wait_seconds`, or when the wait is ended, as it is then.
     * @throws Refusal `job_not_found`, also for a job that is purged meanwhile
     */
    async wait({
      id,
      wait_seconds,
      from,
      announced = false,
      sole = false,
      onHangup,
    }: WaitRequest): Promise<Job> {
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      const bell = createBell();
      let over = closed || wait_seconds === 0;
      let failure: { error: unknown } | undefined;
      const wait: OpenWait = {
        end() {
          over = true;
          bell.ring();
        },
        fail(error) {
          failure = { error };
          bell.ring();
        },
      };
      const waitMs = wait_seconds * 1000;
      const until = performance.now() + waitMs;
      // Before the first look at the job, so that no change in between is missed.
      waiters.add(id, bell.ring);
      waits.add(wait);
      let timer = sole ? setTimeout(bell.ring, Math.min(SOLE_MS, waitMs)) : setTimeout(wait.end, waitMs);
      onHangup?.(wait.end);
      try {
        const isAlone = sole && !over;
        if (isAlone) {
          const waiter = soleWaiters.add(id, bell.ring);
          await bell.heard();
          await waiter.leave();
          if (waiter.job) return waiter.job;
          if (failure) throw failure.error;
          clearTimeout(timer);
          timer = setTimeout(wait.end, Math.max(0, until - performance.now()));
        }
        const isMarked = announced && !isAlone;
        let unfinished = isMarked || (over && !isAlone) || (await announce(queueId, id, wait_seconds));
        for (;;) {
          if (unfinished && !over) await bell.heard();
          if (failure) throw failure.error;
          const job = await look({ id, from });
          if (over || isFinished(job.state)) return job;
          unfinished = true;
        }
      } finally {
        clearTimeout(timer);
        waits.delete(wait);
        waiters.remove(id, bell.ring);
      }
    },

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
