import { stringify } from 'yaml';
import { completeConfig, configBody } from '../routes/http/json/queueBody.ts';
import type { QueueInFile } from '../routes/schemas/queuesFile.ts';
import { DEFAULT_TIMEZONE } from '../routes/schemas/schedule.ts';
import { RawJson } from '../src/job.ts';
import { withoutSpace } from './fields.ts';
import type { Now, ScheduleNow } from './plan.ts';

/** On one line. */
const STYLE = {
  lineWidth: 0,
  blockQuote: false,
  collectionStyle: 'flow',
  flowCollectionPadding: false,
} as const;

const inline = (value: unknown): string => stringify(value, STYLE).trimEnd();

/** A value behind its name. Objects have a line for each member. Payloads stay JSON: YAML holds it, with every digit. */
function textOf(value: unknown, indent: string): string {
  if (value instanceof RawJson) return ` ${withoutSpace(value.text)}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ` ${inline(value)}`;
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  if (members.length === 0) return ' {}';
  return members
    .map(([name, inner]) => `\n${indent}${inline(name)}:${textOf(inner, `${indent}  `)}`)
    .join('');
}

/** Only what is not the default. */
function queueInFile({ config, database }: { config: QueueInFile; database?: string | undefined }): object {
  const defaults = configBody(completeConfig({}));
  const without = (given: object, usual: object): [string, unknown][] =>
    Object.entries(given).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(usual[name as keyof object]),
    );
  const own = Object.fromEntries(without(config, defaults)) as QueueInFile;
  if (own.backoff) own.backoff = Object.fromEntries(without(own.backoff, defaults.backoff as object));
  return { ...own, database };
}

const scheduleInFile = ({ cron, timezone, paused, job }: ScheduleNow): object => ({
  cron,
  timezone: timezone === DEFAULT_TIMEZONE ? undefined : timezone,
  paused: paused || undefined,
  job,
});

const mapped = <T>(entries: Map<string, T> | undefined, inFile: (entry: T) => object) =>
  entries && entries.size > 0
    ? Object.fromEntries([...entries].map(([name, entry]) => [name, inFile(entry)]))
    : undefined;

/** A queues file that says how things are. Its payloads are JSON texts. */
export function fileOf({ queues, schedules, keys }: Partial<Now>): object {
  const living = keys && new Map([...keys].filter(([, { isEnded }]) => !isEnded));
  const file = {
    queues: mapped(queues, queueInFile),
    schedules: mapped(schedules, scheduleInFile),
    keys: mapped(living, ({ scopes, queues }) => ({ scopes, queues })),
  };
  return Object.fromEntries(Object.entries(file).filter(([, section]) => section !== undefined));
}

/** For people, and for their editors. */
export function fileYaml(file: object, schemaUrl: string): string {
  const sections = Object.entries(file).map(([name, section]) => `${name}:${textOf(section, '  ')}\n`);
  return `# yaml-language-server: $schema=${schemaUrl}\n${sections.join('\n') || '{}\n'}`;
}

/** For programs. JSON is YAML, too. */
export function fileJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${fileJson(inner)}`).join(',')}}`;
}
