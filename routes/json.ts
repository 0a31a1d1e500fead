import type { Job } from '../src/types.ts';

/** The JSON of a job: what isn't a column stands beside the texts that are passed on as they are. */
export function jobJson(job: Job): string {
  const { payload, headers, progress, result, ...rest } = job;
  const narrow = JSON.stringify({ ...rest, group: null, fairness_key: null, unique_key: null });
  const tail = payload === undefined || payload === null ? '' : `,"payload":${payload}`;
  return `${narrow.slice(0, -1)},"headers":${headers},"progress":${progress},"result":${result}${tail}}`;
}

export const jobListJson = (jobs: Job[]): string => `{"jobs":[${jobs.map(jobJson).join(',')}]}`;

export const jobPageJson = (jobs: Job[], nextCursor: string | null): string =>
  `{"jobs":[${jobs.map(jobJson).join(',')}],"next_cursor":${JSON.stringify(nextCursor)}}`;
