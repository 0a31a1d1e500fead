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
  is_cancelled: boolean;
}

const statement = planned('batches/awaited', row<Awaited>());

const UNFINISHED = ['scheduled', 'ready', 'blocked', 'leased'] as const;

const CANCELLED = 'The batch was cancelled: nothing follows its end.';

const listed = (parts: string[]) => parts.join(', ');

/** What still comes of a batch without unfinished jobs. */
function comes({ state, followers: [next] }: Batch, { is_cancelled }: Awaited): string {
  if (state === 'running') return 'It ends within a second.';
  if (is_cancelled) return CANCELLED;
  if (next === undefined) return 'It waits for nothing.';
  return `Its ${next} is enqueued as soon as nothing is in its way, such as an open transaction with its unique key.`;
}

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
    const cancelled = found.is_cancelled ? ` ${CANCELLED}` : '';
    if (unfinished.length > 0) {
      const first =
        found.job_id === null
          ? ''
          : ` One of them is in the queue ${found.job_queue}, and is ${found.job_state}.`;
      const more = state === 'open' ? ' And it is open: it ends only after it is closed.' : cancelled;
      return explanation('jobs_unfinished', `Jobs are unfinished: ${listed(unfinished)}.${first}${more}`);
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
    return explanation('finished', `All of its jobs are finished. ${comes(batch, found)}`);
  };
}
