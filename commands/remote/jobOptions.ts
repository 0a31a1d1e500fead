import type { Command } from 'commander';
import { number, several } from './cli.ts';
import { headersOf } from './input.ts';
import { objectOf } from './jsonText.ts';

/** What was given, by the names of options: `uniqueKey`. */
export type JobOptions = { header?: string[] } & Record<string, unknown>;

interface JobOption {
  field: string;
  /** What stands behind `--` and the field. */
  value: string;
  says: string;
  parse?(text: string, before: unknown): unknown;
}

/** The fields of a new job that have an option of their name, as `POST /jobs` takes them. */
const OPTIONS: JobOption[] = [
  { field: 'priority', value: '<n>', says: 'from -100 to 100, higher first', parse: number(-100, 100) },
  { field: 'delay_seconds', value: '<n>', says: 'delay before it becomes ready', parse: number() },
  { field: 'run_at', value: '<time>', says: 'when it becomes ready (RFC 3339)' },
  {
    field: 'max_attempts',
    value: '<n>',
    says: "how many attempts it has (default: the queue's)",
    parse: number(1),
  },
  { field: 'unique_key', value: '<key>', says: 'at most one unfinished job of the queue has it' },
  {
    field: 'unique_for_seconds',
    value: '<n>',
    says: 'how long the key stays taken after the enqueue',
    parse: number(),
  },
  { field: 'unique_until', value: '<finished|claimed>', says: 'how long the job holds the key' },
  { field: 'on_duplicate', value: '<keep|replace>', says: 'what becomes of a waiting job that has the key' },
  { field: 'group', value: '<group>', says: 'jobs of one group run one at a time, in order' },
  { field: 'fairness_key', value: '<key>', says: 'its tenant or the like: keys take turns' },
  {
    field: 'expires_in_seconds',
    value: '<n>',
    says: 'it becomes dead if nobody claims it within this time',
    parse: number(),
  },
  { field: 'batch', value: '<id>', says: 'the batch that it belongs to' },
];

const flagOf = (field: string) => field.replaceAll('_', '-');
/** How commander names an option. */
const keyOf = (field: string) => field.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** What a new job may have, as `POST /jobs` names it, without some fields. */
export function withJobOptions(command: Command, without: string[] = []): Command {
  for (const { field, value, says, parse } of OPTIONS) {
    if (without.includes(field)) continue;
    const flags = `--${flagOf(field)} ${value}`;
    if (parse) command.option(flags, says, parse);
    else command.option(flags, says);
  }
  return command.option(
    '--header <name=value>',
    'metadata for the worker; may be given several times',
    several,
  );
}

/** The body of `POST /jobs`, as text: the payload stays as it is. */
export function specOf(queue: string, payload: string | undefined, options: JobOptions): string {
  const given: Record<string, unknown> = { queue, headers: headersOf(options.header) };
  for (const { field } of OPTIONS) given[field] = options[keyOf(field)];
  const parts = Object.entries(given)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [name, JSON.stringify(value)]);
  return objectOf(payload === undefined ? parts : [...parts, ['payload', payload]]);
}
