import { queueIdOf } from '../ids.ts';
import type { Job, JobRow } from '../job.ts';
import { SMALL_BYTES } from '../memory.ts';
import { gathering } from '../postgres/gathering.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { JobLook } from '../verbs/jobs.ts';

const statement = prepared('waiting/look', row<JobRow>());

const MOST_TOGETHER = 200;

/**
 * Looks at jobs that clients wait for. Clients that are woken together share a statement. Large jobs are left to
 * `getJob`, which reads few of them at once.
 */
export function createLook(context: { db: Db; queues: Queues; getJob(look: JobLook): Promise<Job> }) {
  const { db, queues, getJob } = context;

  const small = gathering(MOST_TOGETHER, async (asked: string[]) => {
    const idsOf = new Map<number, Set<string>>();
    for (const id of asked) {
      const queueId = queueIdOf(id) as number;
      idsOf.set(queueId, (idsOf.get(queueId) ?? new Set()).add(id));
    }
    const found = new Map<string, Job>();
    for (const [queue_id, ids] of idsOf) {
      const rows = await db.query(statement, { queue_id, ids: [...ids].sort(), most_bytes: SMALL_BYTES });
      const queue = rows.length > 0 ? await queues.byId(queue_id) : undefined;
      if (queue) for (const row of rows) found.set(row.id, { ...row, queue: queue.name });
    }
    return asked.map((id) => found.get(id));
  });

  /** @throws Refusal `job_not_found` */
  return async (look: JobLook): Promise<Job> => (await small(look.id)) ?? getJob(look);
}
