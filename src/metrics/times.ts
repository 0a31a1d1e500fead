import type { Family } from '../verbs/counting.ts';
import { histograms } from './family.ts';
import type { QueueTimes } from './jobTimes.ts';

interface Labelled {
  of: QueueTimes;
  labels: string;
}

export const waitFamily = (all: Labelled[]): Family =>
  histograms(
    'dibs_job_wait_seconds',
    'From ready to claimed, of the jobs that this replica leased. For a job of a group it begins when the job arrives. Sum over replicas.',
    all.map(({ of, labels }) => [of.wait, labels]),
  );

export const workFamily = (all: Labelled[]): Family =>
  histograms(
    'dibs_job_work_seconds',
    'From claimed to acked or nacked, of the leases that this replica gave and that were settled here. Sum over replicas.',
    all.map(({ of, labels }) => [of.work, labels]),
  );
