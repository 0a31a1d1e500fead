import type { ClaimsInDatabase } from '../claim/claims.ts';
import { jobNotFound } from '../errors.ts';
import { timeOfId } from '../ids.ts';
import type { Job, JobRow } from '../job.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { Explanation, JobListing, JobLook, JobPage } from '../verbs/jobs.ts';
import { explainJob } from './explainJob.ts';
import { createMatch } from './matchJobs.ts';

const statements = {
  get: prepared('settle/job', row<JobRow>()),
  newest: planned('looking/list_newest', row<Job & Found>()),
  oldest: planned('looking/list_oldest', row<Job & Found>()),
};

/**
 * At most so many single jobs are read at once. So thousands of requests for large jobs leave connections to other
 * verbs. Callers take turns.
 */
const READ_AT_ONCE = 4;

/** How many items a page would have without the cut that keeps it small. */
interface Found {
  found: number;
}

/** The verbs that look at jobs. */
export function createJobLooks(context: {
  db: Database;
  queues: Queues;
  claims: Pick<ClaimsInDatabase, 'fairnessCursor'>;
}) {
  const { db, queues, claims } = context;

  const match = createMatch({ db, queues });
  const reading = createSemaphore(READ_AT_ONCE);

  /** The job with its payload. @throws Refusal `job_not_found` */
  async function get({ id, from }: JobLook): Promise<Job> {
    const queue = await queues.ofJob(id);
    const [row] = await reading(() => db.query(statements.get, { queue_id: queue.id, id }), [from]);
    if (!row) throw jobNotFound(id);
    return { ...row, queue: queue.name };
  }

  return {
    get,

    /** Why the job is not running. @throws Refusal `job_not_found` */
    async explain(id: string): Promise<Explanation> {
      const queue = await queues.ofJob(id);
      const explanation = await explainJob(db, queue, id, claims.fairnessCursor(queue.name));
      if (!explanation) throw jobNotFound(id);
      return explanation;
    },

    /**
     * A page of jobs. It is the last one, if it is shorter than its limit and was not cut. `stoppedAt`: the search for
     * jobs that match stopped at this id, and goes on behind it.
     */
    async list(filter: JobListing): Promise<JobPage> {
      const matched = await match(filter);
      const looked = matched?.looked && {
        jobs: matched.looked.jobs,
        to: matched.looked.last && timeOfId(matched.looked.last),
      };
      if (matched?.ids.length === 0) return { jobs: [], isCut: false, stoppedAt: matched.stoppedAt, looked };
      const asked = {
        queue: filter.queue ?? null,
        state: filter.state ?? null,
        after: filter.after ?? null,
        limit: filter.limit,
        include_payload: filter.payload,
        preview: filter.preview ?? null,
        group: filter.group ?? null,
        unique_key: filter.unique_key ?? null,
        ids: matched?.ids ?? null,
        queue_ids: matched?.queueIds ?? null,
        max_bytes: filter.max_bytes,
        visible: filter.visible ?? null,
      };
      const jobs = await db.query(statements[filter.order], asked);
      return { jobs, isCut: (jobs[0]?.found ?? 0) > jobs.length, stoppedAt: matched?.stoppedAt, looked };
    },
  };
}
