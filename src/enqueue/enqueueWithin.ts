import { queueElsewhere } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import { batchAsRefusal } from '../postgres/errorClasses.ts';
import type { LockTurn } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import { holdOf } from './holdBatches.ts';
import type { Insert } from './insert.ts';
import { hasBatch, isElsewhere, type JobToInsert, queueIdsOf } from './newJob.ts';

/** So many of these transactions run at once. The pool's other connections serve others. */
const AT_ONCE = 4;

/** Inserts the jobs of a transaction. `ownBatch`: the batch of the job that adds them. */
export type EnqueueIn = (ownBatch?: string | null) => Promise<Job[]>;

/** Work in a transaction. The jobs are inserted when, and if, it calls `enqueueIn`. */
export type Within<T> = (transaction: Db, enqueueIn: EnqueueIn) => Promise<T>;

/** All jobs of a batch are in one database. */
const refuseElsewhere = ({ queue }: JobToInsert) => queueElsewhere(queue.name, queue.database as string);

/** Takes jobs for queues in other databases (src/relay). */
export interface RelayOut {
  /** Writes jobs for one queue down, in the transaction that decides about them. Returns them as they are until they arrive. */
  write(transaction: Db, jobs: JobToInsert[]): Promise<Job[]>;
  /** Sends jobs that are committed, and waits for that a short time. Those that arrive become as they are there. */
  send(jobs: Job[]): Promise<void>;
  /** Sends all that waits for a queue. Nobody waits for that. */
  sendTo(queueId: number): void;
}

/** Jobs as they were inserted, or written down for queues in other databases, in the order of the request. */
interface Done {
  all: Job[];
  here: Job[];
  elsewhere: Job[];
}

/** Makes the function that inserts jobs in one transaction with other work. `inserted` is called after the commit. */
export function createTransact(context: {
  db: Database;
  arrivals: Arrivals;
  insert: Insert;
  groups: GroupHeads;
  relay: RelayOut | undefined;
  inserted(jobs: Job[]): void;
}) {
  const { db, arrivals, insert, groups, relay, inserted } = context;
  const slot = createSemaphore(AT_ONCE);

  /** It locks the queues in the order of their ids, so that no two transactions can deadlock. */
  async function insertInto(transaction: Db, jobs: JobToInsert[], ownBatch?: string | null): Promise<Done> {
    for (const job of jobs) if (hasBatch(job) && isElsewhere(job)) throw refuseElsewhere(job);
    for (const { statement, parameters } of holdOf(jobs, ownBatch))
      await transaction.query(statement, parameters);
    const done = new Map<JobToInsert, Job>();
    const [here, elsewhere]: [Job[], Job[]] = [[], []];
    for (const id of queueIdsOf(jobs)) {
      const own = jobs.filter((job) => job.queue.id === id);
      const goes = isElsewhere(own[0] as JobToInsert);
      const rows = await (goes ? (relay as RelayOut).write(transaction, own) : insert(transaction, id, own));
      for (const [i, job] of own.entries()) done.set(job, rows[i] as Job);
      (goes ? elsewhere : here).push(...rows);
    }
    return { all: jobs.map((job) => done.get(job) as Job), here, elsewhere };
  }

  /** Runs `work`. `open` gives the jobs, and creates their queues. */
  return async function transact<T>(
    open: (ownBatch?: string | null) => Promise<JobToInsert[]>,
    work: Within<T>,
    turn: LockTurn,
  ): Promise<T> {
    let done: Done = { all: [], here: [], elsewhere: [] };
    const run = (transaction: Db) =>
      work(transaction, async (ownBatch) => {
        done = await insertInto(transaction, await open(ownBatch), ownBatch);
        return done.all;
      });
    const result = await arrivals
      .watch(
        () => [...new Set(done.here.map((job) => queueIdOf(job.id) as number))],
        async () => {
          const worked = await inTurnOf(db, { slot, ...turn }).transaction(run);
          await groups.lead(done.here);
          return worked;
        },
      )
      .catch((error) => {
        throw batchAsRefusal(error);
      });
    inserted(done.here);
    await groups.advanceAfter(done.here);
    if (done.elsewhere.length > 0) await relay?.send(done.elsewhere);
    return result;
  };
}
