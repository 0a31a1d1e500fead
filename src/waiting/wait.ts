import { jobNotFound, overloaded } from '../errors.ts';
import { queueIdOf } from '../ids.ts';
import type { Job, JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { isFinished, KEPT_SECONDS, type Waiters } from './waiters.ts';

const statements = { await: prepared('waiting/await'), awaited: prepared('waiting/finished') };

/** Whoever waits also looks this often, in case a wake-up was lost; an outage shows as soon. */
const POLL_MS = 1000;
const BATCH = 1000;
/** A replica holds so many waiting requests at once; more are refused, instead of growing memory. */
const MOST_WAITING = 10_000;

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
export function jobWaits(context: {
  db: Db;
  queues: Queues;
  waiters: Waiters;
  get(id: string): Promise<Job>;
  /** A ready job of this queue was locked for a moment: a claim may have passed it over. */
  stirred(queue: Queue): void;
}) {
  const { db, queues, waiters, get, stirred } = context;
  const waiting = new Set<Waiter>();
  let closed = false;
  let looking = false;

  /** Whether the job is there and unfinished; then its end will be kept for who waits. */
  async function announce(queueId: number, id: string, seconds: number): Promise<boolean> {
    const asked = [queueId, id, seconds + KEPT_SECONDS];
    const [row] = await db.query<{ state: JobState }>(statements.await, asked);
    const queue = row?.state === 'ready' ? await queues.byId(queueId) : undefined;
    if (queue) stirred(queue);
    return row !== undefined;
  }

  /** Those of the jobs that are finished, or gone. */
  async function endedOf(queueId: number, ids: string[]): Promise<string[]> {
    const rows = await db.query<{ id: string; finished: boolean }>(statements.awaited, [queueId, ids]);
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
     * The job once it is finished, or as it stands after `seconds`, or when the waiting is ended. `announced` says that it
     * was enqueued as one that is awaited.
     * @throws Refusal `job_not_found`, also of one that is purged meanwhile
     */
    wait(id: string, seconds: number, { announced = false } = {}): { job: Promise<Job>; end(): void } {
      const queueId = queueIdOf(id);
      if (queueId === undefined) throw jobNotFound(id);
      if (waiting.size >= MOST_WAITING) throw overloaded();
      const bell = createBell();
      let over = closed || seconds === 0;
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

      async function untilEnded(queueId: number): Promise<Job> {
        // Before the first look, so that nothing is missed in between.
        waiters.add(id, bell.ring);
        waiting.add(waiter);
        const timer = setTimeout(waiter.end, seconds * 1000);
        try {
          let unfinished = !over && (announced || (await announce(queueId, id, seconds)));
          for (;;) {
            if (unfinished) await bell.heard();
            if (failure) throw failure.error;
            const job = await get(id);
            if (over || isFinished(job.state)) return job;
            unfinished = true;
          }
        } finally {
          clearTimeout(timer);
          waiting.delete(waiter);
          waiters.remove(id, bell.ring);
        }
      }

      return { job: untilEnded(queueId), end: waiter.end };
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

export type JobWaits = ReturnType<typeof jobWaits>;
