import { clip } from './clip.ts';
import { type Database, isKeyTaken, isLockTimeout } from './db.ts';
import { jobNotFound, leaseLost, type Refusal } from './errors.ts';
import { isUuid, queueIdOf } from './ids.ts';
import { createLanes } from './lane.ts';
import { MOMENT_MS, patience } from './patience.ts';
import { nextPositions } from './positions.ts';
import type { Queue, Queues } from './queues.ts';
import { createRounds, type Join, type Part, RANKS } from './rounds.ts';
import { type Prepared, planned, prepared } from './sql.ts';
import type { Ack, Acked, Extend, Extended, Job, JobRow, JobState, Nack, Release } from './types.ts';
import type { Wakes } from './wakes.ts';

const statements = {
  ack: prepared('ack'),
  complete: prepared('complete'),
  nack: prepared('nack'),
  release: prepared('release'),
  extend: prepared('extend'),
  settled: prepared('settled'),
  job: prepared('job'),
  cancelled: planned('cancelled'),
};

const BATCH_ITEMS = 1000;
const BATCH_BYTES = 8 * 2 ** 20;

/** An item of a settling call, and the text that it brings for the job. */
interface Item {
  id: string;
  lease_token: string;
}

/** A job that a statement did not touch. */
interface Found {
  id: string;
  state: JobState;
  lease_token: string | null;
}

interface Context {
  db: Database;
  join: Join;
  queues: Queues;
  wakes: Wakes;
}

/** A token that isn't one of ours matches no lease. */
const tokens = (items: Item[]) => items.map((i) => (isUuid(i.lease_token) ? i.lease_token : null));
const ids = (items: Item[]) => items.map((i) => i.id);

/**
 * One settling verb: `touch` runs its statement for items of one queue, in the order of their ids (so that two batches
 * cannot deadlock), and returns the rows that it touched. Items it didn't touch are refused, or repeated acks.
 */
function settling<I extends Item, Row extends { id: string }>(
  context: Context,
  /** A verb of one statement takes part in the rounds of the queue. */
  inRounds: boolean,
  touch: (queue: Queue, items: I[], part: Part) => Promise<Row[]>,
  text: (item: I) => string | undefined,
  /** What became of an item that the statement did not touch, if it was not lost. */
  otherwise?: (queue: Queue, item: I, found: Found) => Row | undefined | Promise<Row | undefined>,
): (item: I) => Promise<Row> {
  const { db, queues } = context;

  async function missed(queue: Queue, items: I[]): Promise<Map<string, Row | Refusal>> {
    const outcomes = new Map<string, Row | Refusal>();
    if (items.length === 0) return outcomes;
    const rows = await db.query<Found>(statements.settled, [queue.id, ids(items)]);
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const item of items) {
      const row = found.get(item.id);
      const ownToken = row?.lease_token === item.lease_token;
      outcomes.set(
        item.id,
        row
          ? (ownToken && (await otherwise?.(queue, item, row))) || leaseLost(item.id)
          : jobNotFound(item.id),
      );
    }
    return outcomes;
  }

  const lanes = createLanes<I, Row | Refusal>({
    join: inRounds ? context.join : createRounds(db)(RANKS.settle),
    oneAtATime: !inRounds,
    maxWeight: 1,
    weigh: (item) => 1 / BATCH_ITEMS + (text(item)?.length ?? 0) / BATCH_BYTES,
    clash: (item) => item.id,
    async run(queueId, items, part) {
      const queue = await queues.byId(queueId);
      if (!queue) return items.map((item) => jobNotFound(item.id));
      const sorted = items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const touched = new Map((await touch(queue, sorted, part)).map((row) => [row.id, row]));
      const others = await missed(
        queue,
        sorted.filter((item) => !touched.has(item.id)),
      );
      return items.map((item) => (touched.get(item.id) ?? others.get(item.id)) as Row | Refusal);
    },
  });

  return async (item) => {
    const queueId = queueIdOf(item.id);
    if (queueId === undefined) throw jobNotFound(item.id);
    const outcome = await lanes(queueId, item);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
}

/** The verbs that end or extend a lease. Each throws `lease_lost` for a stale token and `job_not_found` for a job that is gone. */
export function settlement(context: Context) {
  const { db, wakes } = context;

  /** Runs a statement after which jobs are back in their queue, or cancelled. */
  async function giveBack(queue: Queue, statement: Prepared, parameters: unknown[]): Promise<Job[]> {
    return back(queue, await db.query<JobRow>(statement, parameters));
  }

  /** The same for one that the sweeper made dead, and that may have to stay so, as its unique key was taken since. */
  async function giveBackLate(
    queue: Queue,
    statement: Prepared,
    parameters: unknown[],
    id: string,
  ): Promise<Job | undefined> {
    try {
      const [, rows] = await db.pipeline([patience(MOMENT_MS), { statement, parameters }]);
      const [job] = await back(queue, rows as unknown as JobRow[]);
      return job;
    } catch (error) {
      if (!isKeyTaken(error) && !isLockTimeout(error)) throw error;
      const [row] = await db.query<JobRow>(statements.job, [queue.id, id]);
      if (!row) return undefined;
      const { payload: _, ...job } = row;
      return { ...job, queue: queue.name };
    }
  }

  async function back(queue: Queue, rows: JobRow[]): Promise<Job[]> {
    if (rows.some((row) => row.state === 'ready')) wakes.ready(queue.name);
    await dropCancelled(queue, rows);
    return rows.map((row) => ({ ...row, queue: queue.name }));
  }

  async function dropCancelled(queue: Queue, rows: { id: string; state: JobState }[]): Promise<void> {
    const cancelled = rows.filter((row) => row.state === 'cancelled');
    if (cancelled.length > 0 && queue.retention_seconds === 0)
      await db.query(statements.cancelled, [queue.id, cancelled.map((row) => row.id)]);
  }

  const nacking = async (queue: Queue, items: Nack[], late: boolean) => [
    queue.id,
    ids(items),
    JSON.stringify(queue.backoff),
    tokens(items),
    await nextPositions(db, items.length),
    items.map((i) => i.delay_seconds ?? null),
    items.map((i) => i.retry === false),
    items.map(() => Math.random()),
    items.map((i) => (i.error === undefined ? null : clip(i.error))),
    late,
  ];

  const releasing = async (queue: Queue, items: Release[], late: boolean) => [
    queue.id,
    ids(items),
    tokens(items),
    await nextPositions(db, items.length),
    items.map((i) => i.delay_seconds ?? 0),
    late,
  ];

  const acked = (id: string): Acked => ({ id, state: 'completed' });

  return {
    dropCancelled,

    ack: settling<Ack, Acked>(
      context,
      true,
      async (queue, items, part) => {
        const rows =
          queue.retention_seconds === 0
            ? await part.db.query<{ id: string }>(statements.ack, [queue.id, ids(items), tokens(items)])
            : await part.db.query<{ id: string }>(statements.complete, [
                queue.id,
                ids(items),
                tokens(items),
                items.map((i) => i.result?.text ?? null),
              ]);
        return rows.map((row) => acked(row.id));
      },
      (item) => item.result?.text,
      (_, item, found) => (found.state === 'completed' ? acked(item.id) : undefined),
    ),

    nack: settling<Nack, Job>(
      context,
      false,
      async (queue, items) => giveBack(queue, statements.nack, await nacking(queue, items, false)),
      (item) => item.error,
      async (queue, item, found) =>
        found.state === 'dead'
          ? giveBackLate(queue, statements.nack, await nacking(queue, [item], true), item.id)
          : undefined,
    ),

    release: settling<Release, Job>(
      context,
      false,
      async (queue, items) => giveBack(queue, statements.release, await releasing(queue, items, false)),
      () => undefined,
      async (queue, item, found) =>
        found.state === 'dead'
          ? giveBackLate(queue, statements.release, await releasing(queue, [item], true), item.id)
          : undefined,
    ),

    extend: settling<Extend, Extended>(
      context,
      false,
      async (queue, items) => {
        const rows = await db.query<Omit<Extended, 'state'>>(statements.extend, [
          queue.id,
          ids(items),
          tokens(items),
          items.map((i) => i.lease_seconds),
          items.map((i) => i.progress?.text ?? null),
        ]);
        return rows.map((row) => ({ ...row, state: 'leased' }));
      },
      (item) => item.progress?.text,
    ),
  };
}

export type Settlement = ReturnType<typeof settlement>;
