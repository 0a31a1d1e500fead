import { batchNotFound } from '../errors.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Batch, BatchExplanation, BatchName } from '../verbs/batches.ts';

interface Awaited {
  job_id: string | null;
  job_state: JobState | null;
  job_queue: string | null;
  follower_of: string | null;
}

const statement = planned('batches/awaited', row<Awaited>());

const UNFINISHED = ['scheduled', 'ready', 'blocked', 'leased'] as const;

const listed = (parts: string[]) => parts.join(', ');

/** Says what a batch waits for. */
export function createExplainBatch({ db, get }: { db: Db; get(name: BatchName): Promise<Batch> }) {
  return async ({ id, visible }: BatchName): Promise<BatchExplanation> => {
    const batch = await get({ id, visible });
    const [found] = await db.query(statement, { id, visible: visible ?? null });
    if (!found) throw batchNotFound(id);
    const { state, counts } = batch;
    const unfinished = UNFINISHED.filter((one) => counts[one] > 0).map((one) => `${counts[one]} ${one}`);
    const explanation = (code: BatchExplanation['code'], detail: string): BatchExplanation => ({
      id,
      state,
      code,
      detail,
      ...(found.job_id !== null && { job_id: found.job_id }),
    });
    if (unfinished.length > 0) {
      const first =
        found.job_id === null
          ? ''
          : ` One of them is in the queue ${found.job_queue}, and is ${found.job_state}.`;
      const open = state === 'open' ? ' And it is open: it ends only after it is closed.' : '';
      return explanation('jobs_unfinished', `Jobs are unfinished: ${listed(unfinished)}.${first}${open}`);
    }
    if (found.follower_of !== null)
      return explanation(
        'follower_awaited',
        `A job that follows the batch ${found.follower_of} belongs to it, and is not enqueued yet.`,
      );
    if (state === 'open')
      return explanation('open', 'It is open: more jobs may come. Close it, so that it can end.');
    if (batch.followers.includes('on_success') && counts.dead > 0)
      return explanation(
        'jobs_dead',
        counts.dead === 1
          ? 'It has ended. 1 of its jobs is dead. When it is retried and completed, its on_success is enqueued.'
          : `It has ended. ${counts.dead} of its jobs are dead. When they are retried and completed, its on_success is enqueued.`,
      );
    const [next] = batch.followers;
    const ends =
      next !== undefined && state !== 'running'
        ? `Its ${next} is enqueued as soon as nothing is in its way, such as an open transaction with its unique key.`
        : state === 'running'
          ? 'It ends within a second.'
          : 'It waits for nothing.';
    return explanation('finished', `All of its jobs are finished. ${ends}`);
  };
}
