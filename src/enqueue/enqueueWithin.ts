import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import type { LockTurn } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Insert } from './insert.ts';
import { type JobToInsert, queueIdsOf } from './newJob.ts';

/** So many of these transactions run at once. The pool's other connections serve others. */
const AT_ONCE = 4;

/** Work in a transaction. The jobs are inserted when, and if, it calls `enqueueIn`. */
export type Within<T> = (transaction: Db, enqueueIn: () => Promise<Job[]>) => Promise<T>;

/** Makes the function that inserts jobs in one transaction with other work. `inserted` is called after the commit. */
export function createTransact(context: {
  db: Database;
  arrivals: Arrivals;
  insert: Insert;
  groups: GroupHeads;
  inserted(jobs: Job[]): void;
}) {
  const { db, arrivals, insert, groups, inserted } = context;
  const slot = createSemaphore(AT_ONCE);

  /** It locks the queues in the order of their ids, so that no two transactions can deadlock. */
  async function insertInto(transaction: Db, jobs: JobToInsert[]): Promise<Job[]> {
    const done = new Map<JobToInsert, Job>();
    for (const id of queueIdsOf(jobs)) {
      const own = jobs.filter((job) => job.queue.id === id);
      const rows = await insert(transaction, id, own);
      for (const [i, job] of own.entries()) done.set(job, rows[i] as Job);
    }
    return jobs.map((job) => done.get(job) as Job);
  }

  /** Runs `work`. `open` gives the jobs, and creates their queues. */
  return async function transact<T>(
    open: () => Promise<JobToInsert[]>,
    work: Within<T>,
    turn: LockTurn,
  ): Promise<T> {
    let done: Job[] = [];
    const run = (transaction: Db) =>
      work(transaction, async () => {
        done = await insertInto(transaction, await open());
        return done;
      });
    const result = await arrivals.watch(
      () => [...new Set(done.map((job) => queueIdOf(job.id) as number))],
      () => inTurnOf(db, { slot, ...turn }).transaction(run),
    );
    inserted(done);
    await groups.advanceAfter(done);
    return result;
  };
}
