import { withUnknownOutcome } from '../errors.ts';
import type { Moved } from '../groups/heads.ts';
import type { JobRow } from '../job.ts';
import { SMALL_BYTES } from '../memory.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import type { SoleWaiters } from '../waiting/soleWaiters.ts';
import { type Changed, KEPT_SECONDS } from '../waiting/waiters.ts';
import type { Ack, Acked } from './requests.ts';
import { ids, tokens } from './settleBatch.ts';

const statements = {
  ack: prepared('settle/ack', row<Done>()),
  ackSole: prepared('settle/ack_sole', row<JobRow>()),
  complete: prepared('settle/complete', row<Done>()),
};

/** A job that was acked. It is kept as completed, or, without a state, gone. */
type Done = Changed & Pick<Moved, 'group'>;

/** Deletes done jobs. Keeps them where the queue has a retention or a client waits for them. */
export async function completeJobs(queue: Queue, items: Ack[], on: Db): Promise<Done[]> {
  const gone =
    queue.retention_seconds === 0
      ? await on.query(statements.ack, { queue_id: queue.id, ids: ids(items), lease_tokens: tokens(items) })
      : [];
  if (gone.length === items.length) return gone;
  const deleted = new Set(gone.map((row) => row.id));
  const rest = items.filter((item) => !deleted.has(item.id));
  const kept = on.query(statements.complete, {
    queue_id: queue.id,
    ids: ids(rest),
    lease_tokens: tokens(rest),
    results: textArray(rest.map((i) => i.result?.text ?? null)),
  });
  try {
    return gone.concat(await kept);
  } catch (error) {
    throw gone.length > 0 ? withUnknownOutcome(error) : error;
  }
}

/** A job with its result is handed over in memory when each of the two has at most this size. So its answer is a small one. */
export const HANDED_OVER_BYTES = SMALL_BYTES / 2;

/** The same for jobs that sole waiters wait for. Hands those that are gone over to their waiters. */
export async function completeForSole(
  queue: Queue,
  items: Ack[],
  on: Db,
  soleWaiters: SoleWaiters,
): Promise<Done[]> {
  if (queue.retention_seconds !== 0) return completeJobs(queue, items, on);
  const gone = await on.query(statements.ackSole, {
    queue_id: queue.id,
    ids: ids(items),
    lease_tokens: tokens(items),
    kept_seconds: KEPT_SECONDS,
    most_bytes: HANDED_OVER_BYTES,
  });
  const results = new Map(items.map(({ id, result }) => [id, result?.text ?? null]));
  const deleted = new Set<string>();
  for (const job of gone) {
    deleted.add(job.id);
    const result = results.get(job.id) ?? null;
    soleWaiters.handOver({ ...job, queue: queue.name, result, lease_expires_at: null });
  }
  const done: Done[] = gone.map(({ id, group }) => ({ id, group }));
  if (deleted.size === items.length) return done;
  try {
    const rest = items.filter(({ id }) => !deleted.has(id));
    return done.concat(await completeJobs(queue, rest, on));
  } catch (error) {
    throw deleted.size > 0 ? withUnknownOutcome(error) : error;
  }
}

/** The answer to the ack of a job. `enqueued` is the text of the follow-ups that a completed job keeps. */
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
