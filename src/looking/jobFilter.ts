import { type FieldError, invalidRequest } from '../errors.ts';
import type { JobState } from '../job.ts';
import { timeForPostgres } from '../postgres/times.ts';

/** Which jobs, beside their queue and state: sql/shared/job_filter.sql. What is left out filters nothing. */
export interface JobFilter {
  group?: string | undefined;
  fairness_key?: string | undefined;
  worker?: string | undefined;
  error_contains?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
}

/** Which jobs to list, and how. */
export interface JobListing extends JobFilter {
  queue?: string;
  state?: JobState;
  unique_key?: string;
  payload: boolean;
  order: 'newest' | 'oldest';
  limit: number;
  /** A page ends when its jobs have this number of bytes together. It has at least one job. */
  max_bytes: number;
  /** The last id of the page before. */
  after?: string;
  /** Only jobs of queues that are like one of these patterns. */
  visible?: string[];
}

/** The parameters of the fragment. @throws Refusal `invalid_request`, naming the field below `at` of this part */
export function filterParameters(filter: JobFilter, part: FieldError['in'], at: string) {
  const refuse = (name: string, message: string) =>
    invalidRequest([{ in: part, path: `${at}/${name}`, message }]);
  const timeOf = (name: 'created_after' | 'created_before') => {
    const text = filter[name];
    if (text === undefined) return null;
    const time = timeForPostgres(text);
    if (time === undefined) throw refuse(name, 'must be a time that exists');
    return time;
  };
  const { group = null, fairness_key = null, worker = null, error_contains = null } = filter;
  for (const [name, text] of Object.entries({ group, fairness_key, worker, error_contains }))
    if (/\p{Surrogate}/u.test(text ?? '')) throw refuse(name, 'must not contain half of a surrogate pair');
  return {
    ...{ group, fairness_key, worker, error_contains },
    created_after: timeOf('created_after'),
    created_before: timeOf('created_before'),
  };
}

export type FilterParameters = ReturnType<typeof filterParameters>;
