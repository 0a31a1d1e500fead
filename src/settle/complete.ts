import type { RoundTripDb } from '../batching/roundTrip.ts';
import { withUnknownOutcome } from '../errors.ts';
import type { Moved } from '../groups/heads.ts';
import type { JobRow } from '../job.ts';
import { SMALL_BYTES } from '../memory.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import type { Ack, Acked } from '../verbs/settle.ts';
import type { SoleWaiters } from '../waiting/soleWaiters.ts';
import { type Changed, KEPT_SECONDS } from '../waiting/waiters.ts';
import { ids, tokens } from './settleBatch.ts';

const statements = {
  ack: prepared('settle/ack', row<Done>()),
  ackSole: prepared('settle/ack_sole', row<JobRow & Pick<Moved, 'advanced'>>()),
  complete: prepared('settle/complete', row<Done>()),
};

/** A job that was acked. It is kept as completed, or, without a state, gone. */
export type Done = Changed & Pick<Moved, 'group' | 'advanced'>;

/** Is called with the jobs that are gone, before the next round trip of their queue begins. */
type Seen = (gone: Done[]) => void;

/** Deletes done jobs. Keeps them where the queue has a retention or a client waits for them. */
export async function completeJobs(
  queue: Queue,
  items: Ack[],
  on: RoundTripDb,
  seen?: Seen,
): Promise<Done[]> {
  const named = { queue_id: queue.id, ids: ids(items), lease_tokens: tokens(items) };
  const gone = queue.retention_seconds === 0 ? await on.query(statements.ack, named, { seen }) : [];
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

/** A job and its result are handed over in memory only when each is at most this large: the answer holds both. */
export const HANDED_OVER_BYTES = SMALL_BYTES / 2;

/**
 * Deletes done jobs that only sole waiters wait for, and hands them over to these. The others go through completeJobs.
 */
export async function completeForSole(
  queue: Queue,
  items: Ack[],
  on: RoundTripDb,
  seen: Seen | undefined,
  soleWaiters: SoleWaiters,
): Promise<Done[]> {
  if (queue.retention_seconds !== 0) return completeJobs(queue, items, on);
  const named = { queue_id: queue.id, ids: ids(items), lease_tokens: tokens(items) };
  const limits = { kept_seconds: KEPT_SECONDS, most_bytes: HANDED_OVER_BYTES };
  const gone = await on.query(statements.ackSole, { ...named, ...limits }, { seen });
  const results = new Map(items.map(({ id, result }) => [id, result?.text ?? null]));
  const deleted = new Set<string>();
  for (const { advanced: _, ...job } of gone) {
    deleted.add(job.id);
    const result = results.get(job.id) ?? null;
    soleWaiters.handOver({ ...job, queue: queue.name, result, lease_expires_at: null });
  }
  const done: Done[] = gone.map(({ id, group, advanced }) => ({ id, group, advanced }));
  if (deleted.size === items.length) return done;
  try {
    const rest = items.filter(({ id }) => !deleted.has(id));
    return done.concat(await completeJobs(queue, rest, on, seen));
  } catch (error) {
    throw deleted.size > 0 ? withUnknownOutcome(error) : error;
  }
}

/** The answer to the ack of a job. `enqueued` is the text of the follow-ups that a completed job keeps. */
export const ackedAs = ({
  id,
  group,
  advanced,
  enqueued,
}: Omit<Moved, 'state'> & { enqueued?: string | null }): Acked & Moved => ({
  id,
  state: 'completed',
  group,
  advanced,
  enqueued: enqueued ? JSON.parse(enqueued) : [],
});
