import { invalidRequest } from '../errors.ts';
import { timeForPostgres } from '../postgres/times.ts';
import type { JobFilter } from '../verbs/jobs.ts';

/** The parameters of the fragment. @throws Refusal `invalid_request`, naming the field below `at` */
export function filterParameters(filter: JobFilter, at: string) {
  const refuse = (name: string, message: string) => invalidRequest([{ path: `${at}/${name}`, message }]);
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
