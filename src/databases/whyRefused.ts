import { queueNameOf } from '../enqueue/intoQueues.ts';
import { batchNotFound, notTogether, Refusal, type RefusalCode } from '../errors.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Lead } from './lead.ts';
import { isNotFound } from './onItsWay.ts';
import type { Place, Placements } from './placements.ts';

/** What a database answers that has not found a batch: it knows its own only. */
const MAY_BE_ELSEWHERE: readonly RefusalCode[] = ['batch_not_found', 'queue_elsewhere'];

/** Jobs of a request that was refused. */
interface Refused {
  jobs: NewJob[];
  at: PathOf;
  /** What says in which database the request is carried out, in words, and where that is. */
  beside: string;
  place: Place | undefined;
}

/** The id of a batch leads as that of a job does. Where it leads nowhere, there is no such batch. */
export const ofBatch = <T>(id: string, run: () => Promise<T>): Promise<T> =>
  run().catch((error) => {
    throw isNotFound(error) ? batchNotFound(id) : error;
  });

const databaseOf = ({ database, moving_to }: Place) => moving_to ?? database;

/** Says of jobs that were refused which of them is for a batch in another database. */
export function createWhyRefused({ toJob }: Lead, placements: Placements) {
  /** @throws Refusal `batch_not_found`, `unavailable` while its database is away */
  const databaseOfBatch = (id: string): Promise<string> =>
    ofBatch(id, () =>
      toJob(id, async ({ name, verbs }) => {
        await verbs.getBatch({ id });
        return name;
      }),
    );

  /** @throws Refusal that names the job, where a batch is in another database, else the same as before */
  return async function why(error: unknown, { jobs, at, beside, place }: Refused): Promise<never> {
    const isToldAlready = !(error instanceof Refusal) || error.errors !== undefined;
    if (isToldAlready || !MAY_BE_ELSEWHERE.includes(error.code)) throw error;
    const found = new Map<string, Promise<string>>();
    for (const [i, job] of jobs.entries()) {
      const queue = placements.known(queueNameOf(job));
      if (job.batch === undefined || !queue) continue;
      if (!found.has(job.batch)) found.set(job.batch, databaseOfBatch(job.batch));
      const [path, batchIn] = [`${at(i)}/batch`, (await found.get(job.batch)) as string];
      if (databaseOf(queue) !== batchIn)
        throw notTogether(path, batchIn, `queue ${queue.name}`, databaseOf(queue));
      if (place && databaseOf(place) !== batchIn) throw notTogether(path, batchIn, beside, databaseOf(place));
    }
    throw error;
  };
}

export type WhyRefused = ReturnType<typeof createWhyRefused>;
