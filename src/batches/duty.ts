import type { RelayOut } from '../enqueue/enqueueWithin.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { Misplaced, type Places } from '../queues/elsewhere.ts';
import { restAfter } from '../shareOfTime.ts';
import type { CancelJobs } from './cancelJobs.ts';

const statements = {
  hasWork: planned('batches/has_work', row<{ has_work: boolean }>()),
  fold: planned('batches/fold', row<{ id: string; rows: number }>()),
  end: planned('batches/end'),
  queues: planned('batches/due_queues', row<{ queue: string }>()),
  send: planned('batches/send_followers', row<{ queue_id: number }>()),
  followers: planned('batches/due_followers', row<{ tried: number }>()),
  unfinished: planned(
    'batches/unfinished',
    row<{ open: number; running: number; oldest_seconds: number | null }>(),
  ),
  cancelling: planned('batches/cancelling', row<{ id: string }>()),
  prune: planned('batches/prune', row<{ id: string }>()),
};

/** So many followers of a queue go to another database at once. */
const SENT = 10;
/** How many ends of jobs are added at once. */
const ROWS = 5000;
const PRUNED = 1000;
/** Batches are counted up to so many, this often. */
const MOST_COUNTED = 100_000;
const COUNT_MS = 10_000;

/** Batches that have not ended. */
export interface UnfinishedBatches {
  open: number;
  running: number;
  /** How long the oldest of those that run has been closed. */
  oldestSeconds: number;
}

/** What is done for batches beside the requests. */
export function createBatchDuty({
  db,
  queues,
  cancelJobs,
  newId,
  crossing,
  relay,
}: {
  db: Database;
  queues: Queues;
  cancelJobs: CancelJobs;
  newId(queueId: number): string;
  /** Set where there are several databases. */
  crossing?: Places | undefined;
  relay?: Pick<RelayOut, 'sendTo'> | undefined;
}) {
  let restsUntil = Number.NEGATIVE_INFINITY;
  let countedAt = Number.NEGATIVE_INFINITY;
  let unfinished: UnfinishedBatches = { open: 0, running: 0, oldestSeconds: 0 };

  /** Opens the queue of followers. They are sent to the database where it lives, if that is another one by now. */
  async function openOrSend(queue: string): Promise<void> {
    try {
      await queues.open(queue);
    } catch (error) {
      const place = error instanceof Misplaced ? await crossing?.findElsewhere(queue) : undefined;
      if (!place) throw error;
      const ids = Array.from({ length: SENT }, () => newId(place.queueId));
      await db.query(statements.send, { queue, queue_id: place.queueId, ids });
      relay?.sendTo(place.queueId);
    }
  }

  /** In one transaction: a batch whose rows are gone is looked at no more. Returns how many there were. */
  async function fold(transaction: Db): Promise<number> {
    const batches = await transaction.query(statements.fold, { limit: ROWS });
    await transaction.query(statements.end, { ids: batches.map(({ id }) => id) });
    return batches.reduce((sum, { rows }) => sum + rows, 0);
  }

  /** Returns whether there is more to do at once. */
  async function work(): Promise<boolean> {
    const rows = await db.transaction(fold);
    const lost = await db.query(statements.queues);
    const opened = await Promise.allSettled(lost.map(({ queue }) => openOrSend(queue)));
    await db.query(statements.followers);
    const cancelled: PromiseSettledResult<boolean>[] = [];
    for (const { id } of await db.query(statements.cancelling))
      cancelled.push(...(await Promise.allSettled([cancelJobs(id)])));
    // A queue that cannot be opened holds up its own followers only, and a batch that cannot be cancelled no other one.
    const failed = [...opened, ...cancelled].find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return rows === ROWS || cancelled.some((one) => one.status === 'fulfilled' && one.value);
  }

  async function count(): Promise<void> {
    const [found] = await db.query(statements.unfinished, { most: MOST_COUNTED });
    const { open = 0, running = 0, oldest_seconds } = found ?? {};
    unfinished = { open, running, oldestSeconds: oldest_seconds ?? 0 };
    countedAt = performance.now();
  }

  return {
    /**
     * Adds up what has ended, and looks at each batch of which jobs have ended. That finds one whose last jobs were finished by
     * more transactions at once than end_batch.sql takes one after the other. Then enqueues followers that were held up, and cancels jobs of
     * cancelled batches.
     */
    async run(): Promise<boolean> {
      const started = performance.now();
      if (started < restsUntil) return false;
      const [look] = await db.query(statements.hasWork);
      if (look?.has_work && (await work())) return true;
      if (started > countedAt + COUNT_MS) await count();
      const ended = performance.now();
      restsUntil = ended + restAfter(ended - started, 'batches');
      return false;
    },

    unfinished: (): UnfinishedBatches => unfinished,
  };
}

/** Deletes batches that ended long ago. Returns whether there may be more. */
export const pruneBatches =
  ({ db }: { db: Db }) =>
  async (): Promise<boolean> =>
    (await db.query(statements.prune, { limit: PRUNED })).length === PRUNED;
