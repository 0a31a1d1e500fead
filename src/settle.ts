import { clip } from './clip.ts';
import type { Database } from './db.ts';
import { jobNotFound, leaseLost, type Refusal } from './errors.ts';
import { isUuid, queueIdOf } from './ids.ts';
import { createLanes } from './lane.ts';
import { nextPositions } from './positions.ts';
import type { Queue, Queues } from './queues.ts';
import { createRounds, type Join, type Part, RANKS } from './rounds.ts';
import { planned, prepared, type Statement } from './sql.ts';
import type { Ack, Acked, Extend, Extended, Job, JobRow, JobState, Nack, Release } from './types.ts';
import type { Wakes } from './wakes.ts';

const statements = {
  ack: prepared('ack'),
  complete: prepared('complete'),
  nack: prepared('nack'),
  release: prepared('release'),
  extend: prepared('extend'),
  settled: prepared('settled'),
  cancelled: planned('cancelled'),
};

const BATCH_ITEMS = 1000;
const BATCH_BYTES = 8 * 2 ** 20;

/** An item of a settling call, and the text that it brings for the job. */
interface Item {
  id: string;
  lease_token: string;
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
  repeated?: (item: I, found: { state: JobState; lease_token: string | null }) => Row | undefined,
): (item: I) => Promise<Row> {
  const { db, queues } = context;

  async function missed(queueId: number, items: I[]): Promise<Map<string, Row | Refusal>> {
    if (items.length === 0) return new Map();
    const found = new Map(
      (
        await db.query<{ id: string; state: JobState; lease_token: string | null }>(statements.settled, [
          queueId,
          ids(items),
        ])
      ).map((row) => [row.id, row]),
    );
    return new Map(
      items.map((item) => {
        const row = found.get(item.id);
        return [item.id, row ? (repeated?.(item, row) ?? leaseLost(item.id)) : jobNotFound(item.id)];
      }),
    );
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
        queueId,
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
  async function giveBack(queue: Queue, statement: Statement, parameters: unknown[]): Promise<Job[]> {
    const rows = await db.query<JobRow>(statement, parameters);
    if (queue.max_leased !== null || rows.some((row) => row.state === 'ready')) wakes.ready(queue.name);
    await dropCancelled(queue, rows);
    return rows.map((row) => ({ ...row, queue: queue.name }));
  }

  async function dropCancelled(queue: Queue, rows: { id: string; state: JobState }[]): Promise<void> {
    const cancelled = rows.filter((row) => row.state === 'cancelled');
    if (cancelled.length > 0 && queue.retention_seconds === 0)
      await db.query(statements.cancelled, [queue.id, cancelled.map((row) => row.id)]);
  }

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
        if (queue.max_leased !== null) wakes.ready(queue.name);
        return rows.map((row) => acked(row.id));
      },
      (item) => item.result?.text,
      (item, found) =>
        found.state === 'completed' && found.lease_token === item.lease_token ? acked(item.id) : undefined,
    ),

    nack: settling<Nack, Job>(
      context,
      false,
      async (queue, items) =>
        giveBack(queue, statements.nack, [
          queue.id,
          ids(items),
          JSON.stringify(queue.backoff),
          tokens(items),
          await nextPositions(db, items.length),
          items.map((i) => i.delay_seconds ?? null),
          items.map((i) => i.retry === false),
          items.map(() => Math.random()),
          items.map((i) => (i.error === undefined ? null : clip(i.error))),
        ]),
      (item) => item.error,
    ),

    release: settling<Release, Job>(
      context,
      false,
      async (queue, items) =>
        giveBack(queue, statements.release, [
          queue.id,
          ids(items),
          tokens(items),
          await nextPositions(db, items.length),
          items.map((i) => i.delay_seconds ?? 0),
        ]),
      () => undefined,
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
