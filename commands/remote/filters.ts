import { type Command, Option } from 'commander';
import type { JobFilter, JobState } from '../../clients/typescript/src/generated.ts';
import { JOB_STATES } from '../../src/job.ts';

export interface FilterOptions {
  group?: string;
  fairnessKey?: string;
  worker?: string;
  errorContains?: string;
  createdAfter?: string;
  createdBefore?: string;
}

export const withFilter = (command: Command): Command =>
  command
    .option('--group <group>', 'only those of this group')
    .option('--fairness-key <key>', 'only those with this key')
    .option('--worker <name>', 'only those that this worker has')
    .option('--error-contains <text>', 'only those whose last error contains this')
    .option('--created-after <time>', 'only those enqueued at this time or later (RFC 3339)')
    .option('--created-before <time>', 'only those enqueued before this time');

export const stateOption = (text: string, states: readonly JobState[] = JOB_STATES): Option =>
  new Option('--state <state...>', text).choices(states);

export const filterOf = (options: FilterOptions): Omit<JobFilter, 'states'> => ({
  group: options.group,
  fairness_key: options.fairnessKey,
  worker: options.worker,
  error_contains: options.errorContains,
  created_after: options.createdAfter,
  created_before: options.createdBefore,
});

/** `, of group a, whose error contains "b"` */
export function filterText(options: FilterOptions): string {
  const parts = [
    options.group !== undefined && `of group "${options.group}"`,
    options.fairnessKey !== undefined && `with the fairness key "${options.fairnessKey}"`,
    options.worker !== undefined && `of worker "${options.worker}"`,
    options.errorContains !== undefined && `whose error contains "${options.errorContains}"`,
    options.createdAfter !== undefined && `enqueued from ${options.createdAfter} on`,
    options.createdBefore !== undefined && `enqueued before ${options.createdBefore}`,
  ].filter((part) => part !== false);
  return parts.map((part) => `, ${part}`).join('');
}
