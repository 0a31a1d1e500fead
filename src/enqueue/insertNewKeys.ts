import { QueueGone } from '../errors.ts';
import type { Job, JobRow, JobState } from '../job.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import { firstOfKeys } from './insert.ts';
import { freeingOf, type Inserted, type JobToInsert, newJobParameters, toJob } from './newJob.ts';

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null };

/** A job that holds a key, or what was decided about one inserted job, or, without a `new_id`, about all that are ready. */
interface Row extends Nullable<JobRow> {
  new_id: string | null;
  new_state: JobState | null;
  new_run_at: string | null;
  new_created_at: string | null;
}

const statements = {
  insert: prepared('enqueue/insert_new_keys', row<Row>()),
  check: prepared('enqueue/check_windows'),
};

export type InsertNewKeys = (
  on: Pick<Database, 'pipeline'>,
  queueId: number,
  jobs: JobToInsert[],
) => Promise<Job[]>;

/**
 * Inserts jobs into one queue, as `Insert` does (insert.ts), for half of its cost. It fails with `isKeyTaken` where that has
 * to do it. Jobs that open windows are not for it. @throws QueueGone when the queue was deleted
 */
export function createInsertNewKeys(newId: (queueId: number) => string): InsertNewKeys {
  return async (on, queueId, jobs) => {
    const firsts = firstOfKeys(jobs);
    const ids = firsts.map(() => newId(queueId));
    const keys = firsts.flatMap(({ unique_key }) => unique_key ?? []);
    const [rows = []] = await on.pipeline([
      callOf(statements.insert, {
        queue_id: queueId,
        ...newJobParameters(ids, firsts),
        freeing: freeingOf(firsts),
      }),
      callOf(statements.check, { queue_id: queueId, unique_keys: textArray(keys), ids }),
    ]);
    if (rows.length === 0) throw new QueueGone();
    const decided = new Map<string | null, Inserted>();
    const holders = new Map<string | null, JobRow>();
    for (const found of rows as unknown as Row[]) {
      const { new_id, new_state: state, new_run_at: run_at, new_created_at: created_at, ...holder } = found;
      if (state !== null) decided.set(new_id, { state, run_at, created_at } as Inserted);
      else holders.set(holder.unique_key, holder as JobRow);
    }
    const own = new Map<JobToInsert, Job>();
    for (const [i, job] of firsts.entries()) {
      if (job.unique_key !== null && holders.has(job.unique_key)) continue;
      const id = ids[i] as string;
      const made = toJob(job, id, (decided.get(id) ?? decided.get(null)) as Inserted);
      own.set(job, made);
      if (job.unique_key !== null) holders.set(job.unique_key, made);
    }
    return jobs.map(
      (job) =>
        own.get(job) ?? {
          ...(holders.get(job.unique_key) as JobRow),
          queue: job.queue.name,
          deduplicated: true,
        },
    );
  };
}
