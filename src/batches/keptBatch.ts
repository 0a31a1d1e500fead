import { keepRows, recall } from '../enqueue/keptJobs.ts';
import { JOB_STATES, type JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { BATCH_FOLLOWERS, type Batch, type NewBatch } from '../verbs/batches.ts';
import type { IdempotentRequest } from '../verbs/enqueue.ts';

/*
 * What an idempotency key keeps of a new batch: its id, when it was created, and the states of its first jobs. All else stands in
 * the request, and a repeat has the same: docs/decisions/0109-keys-of-batches.md.
 */

export interface Created {
  id: string;
  created_at: string;
  /** Of each of its jobs. A duplicate is none. */
  states: JobState[];
}

/** A new batch, as its request is answered. */
export function batchOf(request: NewBatch, { id, created_at, states }: Created): Batch {
  const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Batch['counts'];
  for (const state of states) counts[state]++;
  const { queue, name = null, closed } = request;
  const hasSucceeded = closed && states.length === 0;
  return {
    id,
    name,
    queue,
    state: hasSucceeded ? 'succeeded' : closed ? 'running' : 'open',
    counts,
    followers: hasSucceeded ? [] : BATCH_FOLLOWERS.filter((kind) => request[kind] !== undefined),
    created_at,
    closed_at: closed ? created_at : null,
    finished_at: hasSucceeded ? created_at : null,
  };
}

/** The record is one of jobs. The first one is the batch: so it goes along with the queue of the batch. */
export const keepCreated = (
  transaction: Db,
  once: IdempotentRequest,
  queue: string,
  { id, created_at, states }: Created,
): Promise<void> =>
  keepRows(transaction, once, [{ id, queue, created_at }, ...states.map((state) => ({ state }))]);

/** What an earlier request with this key has created. @throws Refusal `idempotency_key_reused` */
export async function recallCreated(on: Db, once: IdempotentRequest): Promise<Created | undefined> {
  const kept = await recall(on, once);
  const [batch, ...jobs] = kept?.jobs ?? [];
  return batch && { id: batch.id, created_at: batch.created_at, states: jobs.map(({ state }) => state) };
}
