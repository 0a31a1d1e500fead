import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { Job, JobRow, JobState } from '../job.ts';
import { SHORT_LOCK_WAIT_MS, withLockTimeout } from '../postgres/lockWait.ts';
import { type Database, type Db, isKeyTaken, isLockTimeout } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';
import { clip } from './clip.ts';
import type { Ack, Acked, Extend, Extended, Nack, Release } from './requests.ts';
import { type Item, ids, settling, tokens } from './settleBatch.ts';

const statements = {
  ack: prepared('settle/ack', row<Done>()),
  complete: prepared('settle/complete', row<Done>()),
  nack: prepared('settle/nack', row<JobRow>()),
  release: prepared('settle/release', row<JobRow>()),
  extend: prepared('settle/extend', row<Omit<Extended, 'state'>>()),
  job: prepared('settle/job', row<JobRow>()),
  cancelled: planned('settle/drop_cancelled'),
};

interface Context {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  notifier: Notifier;
  waiters: Waiters;
  groups: GroupHeads;
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

/** The verbs that end or extend a lease. Each throws `lease_lost` for a stale token and `job_not_found` for a job that is gone. */
export function createSettlement(context: Context) {
  const { db, notifier, waiters } = context;

  /** A lease has ended, for which another may begin where leases are limited. */
  function freed(queue: Queue): void {
    if (queue.max_leased !== null) notifier.ready(queue.name);
  }

  /** Jobs are back in their queue, cancelled or dead, as of a transaction that has committed. */
  async function gaveBack(queue: Queue, rows: JobRow[]): Promise<Job[]> {
    waiters.changed(rows);
    if (rows.some((row) => row.state === 'ready')) notifier.ready(queue.name);
    else freed(queue);
    await dropCancelled(queue, rows);
    return rows.map((row) => ({ ...row, queue: queue.name }));
  }

  async function dropCancelled(queue: Queue, rows: { id: string; state: JobState }[]): Promise<void> {
    const cancelled = rows.filter((row) => row.state === 'cancelled');
    if (cancelled.length > 0 && queue.retention_seconds === 0)
      await db.query(statements.cancelled, { queue_id: queue.id, ids: cancelled.map((row) => row.id) });
  }

  /** Deletes done jobs, or keeps those that somebody may still ask for. */
  async function complete(queue: Queue, items: Ack[], on: Db): Promise<Done[]> {
    const gone =
      queue.retention_seconds === 0
        ? await on.query(statements.ack, { queue_id: queue.id, ids: ids(items), lease_tokens: tokens(items) })
        : [];
    if (gone.length === items.length) return gone;
    const deleted = new Set(gone.map((row) => row.id));
    const rest = items.filter((item) => !deleted.has(item.id));
    const kept = await on.query(statements.complete, {
      queue_id: queue.id,
      ids: ids(rest),
      lease_tokens: tokens(rest),
      results: rest.map((i) => i.result?.text ?? null),
    });
    return gone.concat(kept);
  }

  /** A job as it stands, without its payload. */
  async function standing(queue: Queue, id: string): Promise<Job | undefined> {
    const [row] = await db.query(statements.job, { queue_id: queue.id, id });
    if (!row) return undefined;
    const { payload: _, ...job } = row;
    return { ...job, queue: queue.name };
  }

  /**
   * What comes of a late settlement of a job that the sweeper made dead: it stays so when its unique key was taken since, and
   * the transaction of whoever takes it just now is not waited for.
   */
  async function settleLate(
    queue: Queue,
    { id }: Item,
    settle: (on: Db) => Promise<JobRow[]>,
  ): Promise<Job | undefined> {
    try {
      const [job] = await gaveBack(queue, await settle(withLockTimeout(db, SHORT_LOCK_WAIT_MS)));
      return job;
    } catch (error) {
      if (!isKeyTaken(error) && !isLockTimeout(error)) throw error;
      return standing(queue, id);
    }
  }

  /** The nack of jobs, to be run where it belongs; `late` for those that may be dead, and their unique keys taken. */
  async function nacking(queue: Queue, items: Nack[], late = false): Promise<(on: Db) => Promise<JobRow[]>> {
    const positions = await nextPositions(db, items.length);
    return (on) =>
      on.query(statements.nack, {
        queue_id: queue.id,
        ids: ids(items),
        queue_backoff: JSON.stringify(queue.backoff),
        lease_tokens: tokens(items),
        positions,
        delays: items.map((i) => i.delay_seconds ?? null),
        refusals: items.map((i) => i.retry === false),
        jitter_shares: items.map(() => Math.random()),
        errors: items.map((i) => (i.error === undefined ? null : clip(i.error))),
        late,
      });
  }

  async function releasing(
    queue: Queue,
    items: Release[],
    late = false,
  ): Promise<(on: Db) => Promise<JobRow[]>> {
    const positions = await nextPositions(db, items.length);
    return (on) =>
      on.query(statements.release, {
        queue_id: queue.id,
        ids: ids(items),
        lease_tokens: tokens(items),
        positions,
        delays: items.map((i) => i.delay_seconds ?? 0),
        late,
      });
  }

  return {
    dropCancelled,
    freed,
    gaveBack,
    complete,
    nacking,
    standing,

    ack: settling<Ack, Acked & Moved>(
      context,
      true,
      async (queue, items, on) => {
        const rows = await complete(queue, items, on);
        waiters.changed(rows);
        freed(queue);
        return rows.map(ackedAs);
      },
      (item) => item.result?.text,
      (_queue, _item, found) => (found.state === 'completed' ? ackedAs(found) : undefined),
    ),

    nack: settling<Nack, Job>(
      context,
      false,
      async (queue, items) => gaveBack(queue, await (await nacking(queue, items))(db)),
      (item) => item.error,
      async (queue, item, found) =>
        found.state === 'dead' ? settleLate(queue, item, await nacking(queue, [item], true)) : undefined,
    ),

    release: settling<Release, Job>(
      context,
      false,
      async (queue, items) => gaveBack(queue, await (await releasing(queue, items))(db)),
      () => undefined,
      async (queue, item, found) =>
        found.state === 'dead' ? settleLate(queue, item, await releasing(queue, [item], true)) : undefined,
    ),

    extend: settling<Extend, Extended>(
      context,
      false,
      async (queue, items) => {
        const rows = await db.query(statements.extend, {
          queue_id: queue.id,
          ids: ids(items),
          lease_tokens: tokens(items),
          lease_seconds: items.map((i) => i.lease_seconds),
          progress: items.map((i) => i.progress?.text ?? null),
        });
        return rows.map((row) => ({ ...row, state: 'leased' }));
      },
      (item) => item.progress?.text,
    ),
  };
}

export type Settlement = ReturnType<typeof createSettlement>;
