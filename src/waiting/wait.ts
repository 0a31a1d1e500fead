import { jobNotFound, overloaded } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Job, JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { isFinished, KEPT_SECONDS, type Waiters } from './waiters.ts';

const statements = {
  await: prepared('waiting/await', row<{ state: JobState }>()),
  awaited: prepared('waiting/finished', row<{ id: string; finished: boolean }>()),
};

/** Whoever waits also looks this often, in case a wake-up was lost; an outage shows as soon. */
const POLL_MS = 1000;
const BATCH = 1000;
/** A replica holds so many waiting requests at once; more are refused, instead of growing memory. */
const MOST_WAITING = 10_000;

/** A request that waits for the end of a job. */
export interface WaitRequest {
  id: string;
  wait_seconds: number;
  /** The job was enqueued as one that a client waits for. */
  announced?: boolean | undefined;
  /** Is given the function to call when the client is gone. */
  onHangup?: ((gone: () => void) => void) | undefined;
}

interface Waiter {
  /** Nobody waits any more: it looks for the last time. */
  end(): void;
  fail(error: unknown): void;
}

/** Rings for one listener; a ring that came before is heard at once. */
function createBell() {
  let rung = false;
  let hear: () => void = () => undefined;
  return {
    ring(): void {
      rung = true;
      hear();
    },
    async heard(): Promise<void> {
      if (!rung)
        await new Promise<void>((resolve) => {
          hear = resolve;
        });
      rung = false;
    },
  };
}

/** Waiting for the end of jobs. It holds no connection. */
export function createJobWaits(context: {
  db: Db;
  queues: Queues;
  waiters: Waiters;
  notifier: Notifier;
  getJob(id: string): Promise<Job>;
  /** Has the next claim of a queue scan everything. */
  rescan(queue: string): void;
}) {
  const { db, queues, waiters, notifier, getJob, rescan } = context;
  const waiting = new Set<Waiter>();
  let closed = false;
  let looking = false;

  /** Whether the job is there and unfinished; then its end will be kept for who waits. */
  async function announce(queueId: number, id: string, seconds: number): Promise<boolean> {
    const asked = { queue_id: queueId, id, seconds: seconds + KEPT_SECONDS };
    const [row] = await db.query(statements.await, asked);
    const queue = row?.state === 'ready' ? await queues.byId(queueId) : undefined;
    if (queue) {
      // The ready job was locked for a moment: a claim may have passed it over.
      rescan(queue.name);
      notifier.ready(queue.name);
    }
    return row !== undefined;
  }

  /** Those of the jobs that are finished, or gone. */
  async function endedOf(queueId: number, ids: string[]): Promise<string[]> {
    const rows = await db.query(statements.awaited, { queue_id: queueId, ids });
    const unfinished = new Set(rows.filter((row) => !row.finished).map((row) => row.id));
    return ids.filter((id) => !unfinished.has(id));
  }

  async function look(): Promise<void> {
    const byQueue = new Map<number, string[]>();
    for (const id of waiters.ids().sort()) {
      const queueId = queueIdOf(id) as number;
      byQueue.set(queueId, byQueue.get(queueId) ?? []);
      byQueue.get(queueId)?.push(id);
    }
    for (const [queueId, ids] of byQueue)
      for (let at = 0; at < ids.length; at += BATCH)
        waiters.wake(await endedOf(queueId, ids.slice(at, at + BATCH)));
  }

  const poll = setInterval(() => {
    if (looking) return;
    looking = true;
    look()
      .catch((error) => {
        for (const waiter of waiting) waiter.fail(error);
      })
      .finally(() => {
        looking = false;
      });
  }, POLL_MS);
  poll.unref();

  return {
    /**
     * The job once it is finished, or as it stands after `wait_seconds`, or when the waiting is ended.
     * @throws Refusal `job_not_found`, also for a job that is purged meanwhile
     */
    async wait({ id, wait_seconds, announced = false, onHangup }: WaitRequest): Promise<Job> {
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      if (waiting.size >= MOST_WAITING) throw overloaded();
      const bell = createBell();
      let over = closed || wait_seconds === 0;
      let failure: { error: unknown } | undefined;
      const waiter: Waiter = {
        end() {
          over = true;
          bell.ring();
        },
        fail(error) {
          failure = { error };
          bell.ring();
        },
      };
      // Before the first look, so that nothing is missed in between.
      waiters.add(id, bell.ring);
      waiting.add(waiter);
      const timer = setTimeout(waiter.end, wait_seconds * 1000);
      onHangup?.(waiter.end);
      try {
        let unfinished = !over && (announced || (await announce(queueId, id, wait_seconds)));
        for (;;) {
          if (unfinished) await bell.heard();
          if (failure) throw failure.error;
          const job = await getJob(id);
          if (over || isFinished(job.state)) return job;
          unfinished = true;
        }
      } finally {
        clearTimeout(timer);
        waiting.delete(waiter);
        waiters.remove(id, bell.ring);
      }
    },

    /** Whether nobody waits any more. */
    closed: () => closed,

    /** How many wait here. */
    waiting: () => waiting.size,

    /** Answers all who wait with their jobs as they stand; later ones don't wait. */
    close(): void {
      closed = true;
      clearInterval(poll);
      for (const waiter of waiting) waiter.end();
    },
  };
}

export type JobWaits = ReturnType<typeof createJobWaits>;
