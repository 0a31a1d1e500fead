import type { Enqueue } from '../enqueue/enqueue.ts';
import type { EnqueueIn } from '../enqueue/enqueueWithin.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { traceInText } from '../traceparent.ts';
import type { Signed } from '../verbs/callers.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Untouched } from './settleBatch.ts';

const limit = planned('postgres/transaction_limits');

/**
 * Runs `settle` in a transaction of its own, which inserts the follow-ups when, and if, `settle` calls `enqueueIn`.
 * `at` gives the JSON pointer of each follow-up in the request.
 */
export type InTransaction = <T>(
  followUps: NewJob[],
  at: PathOf,
  { by }: Signed,
  settle: (transaction: Db, enqueueIn: EnqueueIn) => Promise<T>,
) => Promise<T>;

export const createInTransaction =
  (enqueueWithin: Enqueue['enqueueWithin']): InTransaction =>
  (followUps, at, { by }, settle) =>
    enqueueWithin(
      followUps,
      at,
      async (transaction, enqueueIn) => {
        await transaction.query(limit);
        return settle(transaction, enqueueIn);
      },
      { by },
    );

/** Follow-ups belong to the trace of their request. Where it has none, to that of the job that they follow. */
export function withTraceOf({ headers }: Untouched, followUps: NewJob[]): NewJob[] {
  const trace = traceInText(headers);
  return trace ? followUps.map((job) => (job.trace ? job : { ...job, trace })) : followUps;
}
