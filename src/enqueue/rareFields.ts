// Generated from src/jobFields.ts by "npm run generate".

import type { AskedRare, RareFields } from '../jobShapes.ts';
import { ifAny, textsIfAny } from './ifAny.ts';

export const rareOf = (job: AskedRare): RareFields => ({
  backoff: job.backoff === undefined ? null : JSON.stringify(job.backoff),
  unique_key: job.unique_key ?? null,
  unique_for_seconds: job.unique_for_seconds ?? null,
  group: job.group ?? null,
  fairness_key: job.fairness_key ?? null,
  expires_in_seconds: job.expires_in_seconds ?? null,
});

export const rareParameters = (jobs: RareFields[]) => ({
  backoffs: textsIfAny(jobs, (job) => job.backoff),
  unique_keys: textsIfAny(jobs, (job) => job.unique_key),
  windows: ifAny(jobs, (job) => job.unique_for_seconds),
  groups: textsIfAny(jobs, (job) => job.group),
  fairness_keys: textsIfAny(jobs, (job) => job.fairness_key),
  expiries: ifAny(jobs, (job) => job.expires_in_seconds),
});

/** Those that answers show. */
export const shownRare = (job: RareFields) => ({
  unique_key: job.unique_key,
  group: job.group,
  fairness_key: job.fairness_key,
});
