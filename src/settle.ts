import type { AwaitedJobs, Changed } from './awaited.ts';
import { clip } from './clip.ts';
import type { Database, Db } from './db.ts';
import { jobNotFound, leaseLost, type Refusal } from './errors.ts';
import { changesTurns, type Groups, type Moved } from './groups.ts';
import { isUuid, queueIdOf } from './ids.ts';
import { createLanes } from './lane.ts';
import { nextPositions } from './positions.ts';
import type { Queue, Queues } from './queues.ts';
import { createRounds, type Join, type Part, RANKS } from './rounds.ts';
import { planned, prepared } from './sql.ts';
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
  awaited: AwaitedJobs;
  groups: Groups;
}

/** A job that a settling statement did not touch. */
export interface Found {
  id: string;
  state: JobState;
  lease_token: string | null;
  enqueued: string | null;
}

/** A job that was acked: kept as completed, or, without a state, gone. */
type Done = Changed & Pick<Moved, 'group'>;

/** What the ack of a job is answered; `enqueued` is what is kept with a completed one. */
export const ackedAs = ({
  id,
  group,
  enqueued,
}: Pick<Moved, 'id' | 'group'> & { enqueued?: string | null }): Acked & Moved => ({
  id,
  state: 'completed',
  group,
  enqueued: enqueued ? JSON.parse(enqueued) : [],
});

/** A token that isn't one of ours matches no lease. */
const tokens = (items: Item[]) => items.map((i) => (isUuid(i.lease_token) ? i.lease_token : null));
const ids = (items: Item[]) => items.map((i) => i.id);

/**
 * One settling verb: `touch` runs its statement for items of one queue, in the order of their ids (so that two batches
 * cannot deadlock), and returns the rows that it touched. Items it didn't touch are refused, or repeated acks.
 */
function settling<I extends Item, Row extends Moved>(
  context: Context,
  /** A verb of one statement takes part in the rounds of the queue. */
  inRounds: boolean,
  touch: (queue: Queue, items: I[], part: Part) => Promise<Row[]>,
  text: (item: I) => string | undefined,
  repeated?: (item: I, found: Found) => Row | undefined,
): (item: I) => Promise<Row> {
  const { db, queues, groups } = context;

  async function missed(queueId: number, items: I[]): Promise<Map<string, Row | Refusal>> {
    if (items.length === 0) return new Map();
    const found = new Map(
      (await db.query<Found>(statements.settled, [queueId, ids(items)])).map((row) => [row.id, row]),
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
    // Not in the batch, where those of no group would wait too.
    if (changesTurns(outcome)) await groups.passOn([outcome]);
    return outcome;
  };
}

/** The verbs that end or extend a lease. Each throws `lease_lost` for a stale token and `job_not_found` for a job that is gone. */
export function settlement(context: Context) {
  const { db, wakes, awaited } = context;

  /** A lease has ended, for which another may begin where leases are limited. */
  function freed(queue: Queue): void {
    if (queue.max_leased !== null) wakes.ready(queue.name);
  }

  /** Jobs are back in their queue, cancelled or dead, as of a transaction that has committed. */
  async function gaveBack(queue: Queue, rows: JobRow[]): Promise<Job[]> {
    awaited.changed(rows);
    if (rows.some((row) => row.state === 'ready')) wakes.ready(queue.name);
    else freed(queue);
    await dropCancelled(queue, rows);
    return rows.map((row) => ({ ...row, queue: queue.name }));
  }

  async function dropCancelled(queue: Queue, rows: { id: string; state: JobState }[]): Promise<void> {
    const cancelled = rows.filter((row) => row.state === 'cancelled');
    if (cancelled.length > 0 && queue.retention_seconds === 0)
      await db.query(statements.cancelled, [queue.id, cancelled.map((row) => row.id)]);
  }

  /** Deletes done jobs, or keeps those that somebody may still ask for. */
  async function complete(queue: Queue, items: Ack[], on: Db): Promise<Done[]> {
    const gone =
      queue.retention_seconds === 0
        ? await on.query<Done>(statements.ack, [queue.id, ids(items), tokens(items)])
        : [];
    if (gone.length === items.length) return gone;
    const deleted = new Set(gone.map((row) => row.id));
    const rest = items.filter((item) => !deleted.has(item.id));
    const kept = await on.query<Done>(statements.complete, [
      queue.id,
      ids(rest),
      tokens(rest),
      rest.map((i) => i.result?.text ?? null),
    ]);
    return gone.concat(kept);
  }

  /** The nack of jobs, to be run where it belongs. */
  async function nacking(queue: Queue, items: Nack[]): Promise<(on: Db) => Promise<JobRow[]>> {
    const positions = await nextPositions(db, items.length);
    return (on) =>
      on.query<JobRow>(statements.nack, [
        queue.id,
        ids(items),
        JSON.stringify(queue.backoff),
        tokens(items),
        positions,
        items.map((i) => i.delay_seconds ?? null),
        items.map((i) => i.retry === false),
        items.map(() => Math.random()),
        items.map((i) => (i.error === undefined ? null : clip(i.error))),
      ]);
  }

  return {
    dropCancelled,
    freed,
    gaveBack,
    complete,
    nacking,

    ack: settling<Ack, Acked & Moved>(
      context,
      true,
      async (queue, items, part) => {
        const rows = await complete(queue, items, part.db);
        awaited.changed(rows);
        freed(queue);
        return rows.map(ackedAs);
      },
      (item) => item.result?.text,
      (item, found) =>
        found.state === 'completed' && found.lease_token === item.lease_token ? ackedAs(found) : undefined,
    ),

    nack: settling<Nack, Job>(
      context,
      false,
      async (queue, items) => gaveBack(queue, await (await nacking(queue, items))(db)),
      (item) => item.error,
    ),

    release: settling<Release, Job>(
      context,
      false,
      async (queue, items) =>
        gaveBack(
          queue,
          await db.query<JobRow>(statements.release, [
            queue.id,
            ids(items),
            tokens(items),
            await nextPositions(db, items.length),
            items.map((i) => i.delay_seconds ?? 0),
          ]),
        ),
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
