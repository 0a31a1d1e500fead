import { type Job, sizeOf } from '../job.ts';
import type { JobListing, JobPage } from '../verbs/jobs.ts';
import { type Answered, askAll, type Part } from './merged.ts';

/** Compares ids in the order of a list. */
type Compare = (a: string, b: string) => number;

const ORDERS: Record<JobListing['order'], Compare> = {
  oldest: (a, b) => (a < b ? -1 : a > b ? 1 : 0),
  newest: (a, b) => (a > b ? -1 : a < b ? 1 : 0),
};

/** The id up to which a page has all jobs of its database. Undefined: there are no more behind it. */
function endOf({ jobs, isCut, stoppedAt }: JobPage, limit: number): string | undefined {
  const last = jobs.at(-1)?.id;
  if (isCut) return last;
  return stoppedAt ?? (jobs.length >= limit ? last : undefined);
}

/** How many of these jobs have so many bytes together. At least one. */
function fitting(jobs: Job[], maxBytes: number): number {
  let bytes = 0;
  const over = jobs.findIndex((job, i) => {
    bytes += sizeOf(job);
    return i > 0 && bytes > maxBytes;
  });
  return over < 0 ? jobs.length : over;
}

/**
 * The page that these pages are together. It ends where the first of them ends that has more behind it: what the others have
 * behind that id belongs to the next page.
 */
function merge(pages: Answered<JobPage>[], { order, limit, max_bytes }: JobListing): JobPage {
  const compare = ORDERS[order];
  const ends = pages.flatMap(({ answer }) => endOf(answer, limit) ?? []).sort(compare);
  const [end] = ends;
  const all = pages
    .flatMap(({ answer }) => answer.jobs)
    .filter(({ id }) => end === undefined || compare(id, end) <= 0)
    .sort((a, b) => compare(a.id, b.id))
    .slice(0, limit);
  const jobs = all.slice(0, fitting(all, max_bytes));
  return { jobs, isCut: jobs.length < all.length, stoppedAt: end };
}

/** Jobs of all queues by id. Ids ascend over all databases, so a page goes on behind the last id of the page before. */
export function mergedListJobs(parts: readonly Part<'listJobs'>[]) {
  return async (listing: JobListing): Promise<JobPage> => {
    // Together they have as many bytes as a page may have.
    const max_bytes = Math.ceil(listing.max_bytes / parts.length);
    const { answers, ...away } = await askAll(parts, ({ verbs }) =>
      verbs.listJobs({ ...listing, max_bytes }),
    );
    return { ...merge(answers, listing), ...away };
  };
}
