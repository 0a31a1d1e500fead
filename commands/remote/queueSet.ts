import { type Command, InvalidArgumentError } from 'commander';
import { DibsError } from '../../clients/typescript/src/errors.ts';
import {
  type BackoffKind,
  configureQueue,
  getQueue,
  type Queue,
  type QueueConfig,
} from '../../clients/typescript/src/generated.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number } from './cli.ts';
import type { Session } from './session.ts';
import { type Cell, fields } from './table.ts';

/** `none`: no limit, or the default. */
type Setting = number | 'none';

interface Options {
  leaseSeconds?: Setting;
  maxAttempts?: Setting;
  retentionSeconds?: Setting;
  deadRetentionSeconds?: Setting;
  alertAfterSeconds?: Setting;
  maxLeased?: Setting;
  maxReady?: Setting;
  deadLetterQueue?: string;
  groupConcurrency?: Setting;
  groupBatches?: Setting;
  rateLimit?: { jobs: number; per_seconds: number } | 'none';
  backoff?: BackoffKind;
  backoffBaseSeconds?: number;
  backoffMaxSeconds?: number;
  database?: string;
}

const setting = (text: string): Setting => (text === 'none' ? text : number()(text));

function rate(text: string): { jobs: number; per_seconds: number } | 'none' {
  if (text === 'none') return text;
  const [jobs, seconds] = text.split('/').map(Number);
  if (!jobs || !seconds) throw new InvalidArgumentError('It is JOBS/SECONDS, such as 100/60, or "none".');
  return { jobs, per_seconds: seconds };
}

/** The configuration with what was given. A field that is `none` takes its default. */
export function changed(config: QueueConfig, options: Options): QueueConfig {
  const given = {
    lease_seconds: options.leaseSeconds,
    max_attempts: options.maxAttempts,
    retention_seconds: options.retentionSeconds,
    dead_retention_seconds: options.deadRetentionSeconds,
    alert_after_seconds: options.alertAfterSeconds,
    max_leased: options.maxLeased,
    max_ready: options.maxReady,
    dead_letter_queue: options.deadLetterQueue,
    group_concurrency: options.groupConcurrency,
    group_batches: options.groupBatches,
    rate_limit: options.rateLimit,
  };
  const backoff = {
    kind: options.backoff,
    base_seconds: options.backoffBaseSeconds,
    max_seconds: options.backoffMaxSeconds,
  };
  const isSet = (value: unknown) => value !== undefined;
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => isSet(value)));
  const setBackoff = Object.fromEntries(Object.entries(backoff).filter(([, value]) => isSet(value)));
  if (Object.keys(set).length + Object.keys(setBackoff).length === 0 && options.database === undefined)
    throw new UsageError('dibs queue set needs what to set. Add --help to see it.');
  const whole: Record<string, unknown> = { ...config, ...set, backoff: { ...config.backoff, ...setBackoff } };
  return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== 'none')) as QueueConfig;
}

/** The configuration, a field on each line. */
export const configPairs = ({ config }: Queue): [string, Cell][] =>
  Object.entries(config).map(([field, value]) => [field, JSON.stringify(value)]);

async function set(session: Session, options: Options, name: string): Promise<undefined> {
  const before = await session
    .ask((caller) => getQueue(caller, name))
    .then(({ value }) => value.config)
    .catch((error) => {
      if (error instanceof DibsError && error.code === 'queue_not_found') return {};
      throw error;
    });
  const config = changed(before, options);
  const body = { ...config, database: options.database };
  const answer = await session.ask((caller) => configureQueue(caller, name, body));
  session.show(answer, (queue) =>
    fields([['queue', queue.name], ['database', queue.database], ...configPairs(queue)], session.paint),
  );
}

export function addQueueSet(queue: Command, { act }: Cli): void {
  examples(
    queue
      .command('set <name>')
      .summary('configure a queue')
      .description(
        'Sets what is given, and leaves the rest of the configuration as it is. "none" removes a limit, or resets a field to its default. A queue that does not exist is created.',
      )
      .option('--lease-seconds <n>', 'lease (visibility timeout) of claims that name none', setting)
      .option('--max-attempts <n>', 'attempts of jobs that name no number', setting)
      .option('--retention-seconds <n>', 'how long completed and cancelled jobs stay visible', setting)
      .option('--dead-retention-seconds <n>', 'how long dead jobs are kept', setting)
      .option('--alert-after-seconds <n>', 'a job that is ready for longer is an alert', setting)
      .option('--max-leased <n>', 'concurrency limit: jobs leased at once, over all workers', setting)
      .option('--max-ready <n>', 'most waiting jobs: at this number, enqueues are refused', setting)
      .option('--dead-letter-queue <queue>', 'where jobs go that become dead')
      .option('--group-concurrency <n>', 'jobs of one group at once', setting)
      .option('--group-batches <n>', 'jobs of one group in one claim', setting)
      .option('--rate-limit <jobs/seconds>', 'most jobs claimed in any window', rate)
      .option('--backoff <kind>', 'exponential, linear or constant')
      .option('--backoff-base-seconds <n>', 'delay before the first retry', number())
      .option('--backoff-max-seconds <n>', 'longest delay before a retry', number())
      .option('--database <database>', 'where a new queue is to be, with several databases')
      .action(act(set)),
    'dibs queue set mail --max-leased 20 --rate-limit 100/60',
    'dibs queue set mail --max-leased none',
  );
}
