import { parseArgs } from 'node:util';
import {
  Client,
  type JobSignal,
  Nack,
  Release,
  Worker,
  type WorkerJob,
} from '../clients/typescript/src/index.ts';
import { type Ended, killAll, passOn, runProgram } from './program.ts';
import { parsed, UsageError } from './usage.ts';
import { createBatches } from './workBatches.ts';

const USAGE = `Usage: dibs work QUEUE... [options] -- COMMAND [ARGUMENT...]

Runs COMMAND for each job: the payload on its standard input, DIBS_JOB_ID, DIBS_QUEUE, DIBS_ATTEMPT, DIBS_DELIVERIES and each header
as DIBS_HEADER_<NAME> in its environment. The lease is extended while it runs.

  exit 0     the job is done
  exit 75    retry: the job comes back after --retry-seconds, and no attempt is charged
  exit 100   dead: the job is not tried again
  other      failed: tried again after its backoff. The end of standard error is kept as last_error

  --concurrency N      how many commands run at once (1)
  --timeout SECONDS    a command that runs longer is killed, and its job failed
  --result             standard output is the result of the job: JSON, or else text, up to 64 KiB
  --batch N            gives one command up to N jobs, one per line:
                       {"id", "queue", "attempt", "deliveries", "headers", "payload"}. Its end is the end of all of them
  --lease-seconds N    how long a lease is (the queue's)
  --wait-seconds N     how long a claim waits for jobs (20)
  --stop-seconds N     at SIGTERM, how long commands may go on (25). A second SIGTERM ends them now
  --retry-seconds N    the delay after exit 75 (10)
  --name NAME          shown to people who look at a job

DIBS_URL says where Dibs is (http://127.0.0.1:8080), DIBS_KEY has an access key or token.
`;

const options = {
  concurrency: { type: 'string' },
  timeout: { type: 'string' },
  result: { type: 'boolean' },
  batch: { type: 'string' },
  'lease-seconds': { type: 'string' },
  'wait-seconds': { type: 'string' },
  'stop-seconds': { type: 'string' },
  'retry-seconds': { type: 'string' },
  name: { type: 'string' },
} as const;

const RETRY = 75;
const DEAD = 100;

export interface WorkSettings {
  queues: string[];
  command: [string, ...string[]];
  concurrency: number;
  batch: number;
  timeoutSeconds?: number;
  isResult: boolean;
  leaseSeconds?: number;
  waitSeconds?: number;
  stopSeconds?: number;
  retrySeconds: number;
  name?: string;
}

/** @throws UsageError */
export function workSettings(args: string[]): WorkSettings {
  const misused = (why: string) => new UsageError(`${why}\n\n${USAGE}`);
  const end = args.indexOf('--');
  if (end < 0) throw misused('dibs work needs a command, after "--".');
  const [program, ...rest] = args.slice(end + 1);
  if (program === undefined) throw misused('dibs work needs a command, after "--".');
  const { values, positionals } = parsed(
    () => parseArgs({ args: args.slice(0, end), options, allowPositionals: true }),
    `\n\n${USAGE}`,
  );
  if (positionals.length === 0) throw misused('dibs work needs the name of a queue.');
  const seconds = (name: keyof typeof options): number | undefined => {
    const text = values[name];
    if (text === undefined) return undefined;
    if (!/^\d{1,8}(\.\d+)?$/.test(String(text))) throw misused(`--${name} must be a number, not "${text}".`);
    return Number(text);
  };
  const count = (name: 'concurrency' | 'batch') => {
    const number = seconds(name) ?? 1;
    if (!Number.isInteger(number) || number < 1 || number > 1000)
      throw misused(`--${name} must be a whole number from 1 to 1000.`);
    return number;
  };
  const settings: WorkSettings = {
    queues: positionals,
    command: [program, ...rest],
    concurrency: count('concurrency'),
    batch: count('batch'),
    timeoutSeconds: seconds('timeout'),
    isResult: values.result === true,
    leaseSeconds: seconds('lease-seconds'),
    waitSeconds: seconds('wait-seconds'),
    stopSeconds: seconds('stop-seconds'),
    retrySeconds: seconds('retry-seconds') ?? 10,
    name: values.name,
  };
  if (settings.concurrency * settings.batch > 1000)
    throw misused('--concurrency times --batch must be at most 1000.');
  if (settings.isResult && settings.batch > 1) throw misused('--result and --batch do not go together.');
  return settings;
}

type Env = Record<string, string | undefined>;

const headerName = (name: string) => `DIBS_HEADER_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;

/** What a command learns of its job. */
function envOf(job: WorkerJob): Env {
  const headers = Object.entries(job.headers).map(([name, value]) => [headerName(name), value]);
  return {
    ...Object.fromEntries(headers),
    ...(job.headers.traceparent && { TRACEPARENT: job.headers.traceparent }),
    DIBS_JOB_ID: job.id,
    DIBS_QUEUE: job.queue,
    DIBS_ATTEMPT: String(job.attempt),
    DIBS_DELIVERIES: String(job.deliveries),
    DIBS_HEADERS: JSON.stringify(job.headers),
  };
}

/** One line of `--batch`. Line breaks in JSON stand between values only, so a space means the same. */
const lineOf = (job: WorkerJob) => {
  const { id, queue, attempt, deliveries, headers } = job;
  const rest = JSON.stringify({ id, queue, attempt, deliveries, headers }).slice(0, -1);
  return `${rest},"payload":${job.payloadText.replaceAll(/[\r\n]/g, ' ')}}\n`;
};

function resultOf(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return output.replace(/\r?\n$/, '');
  }
}

/** What the end of the command means for the job. */
function outcomeOf(ended: Ended, settings: WorkSettings, signal: AbortSignal): unknown {
  if (ended.code === 0 && !ended.isTimedOut) return settings.isResult ? resultOf(ended.stdout) : undefined;
  // It was told to end: that is no failure of the job.
  if (signal.aborted) throw signal.reason as JobSignal;
  if (ended.code === RETRY) throw new Release({ delaySeconds: settings.retrySeconds });
  const why = ended.isTimedOut
    ? `the command ran longer than ${settings.timeoutSeconds} s`
    : `the command ended with ${ended.signal ?? ended.code}`;
  const said = ended.stderr.trim();
  throw new Nack(said === '' ? why : `${why}: ${said}`, { retry: ended.code !== DEAD });
}

/** `dibs work`: until a signal, or until Dibs refuses its claims. */
export async function workCommand(args: string[], env: Env): Promise<void> {
  if (args[0] === '--help' || args[0] === 'help') {
    process.stderr.write(USAGE);
    return;
  }
  const settings = workSettings(args);
  let notFound: Error | undefined;
  const run = async (input: string, extra: Env, signal: AbortSignal) => {
    try {
      return await runProgram(settings.command, { input, env: { ...env, ...extra }, signal, ...settings });
    } catch (error) {
      // The command cannot be run. Other jobs would fare no better.
      notFound = error as Error;
      void worker.stop();
      throw new Release();
    }
  };
  const batches = createBatches(settings.batch, settings.concurrency, (jobs, signal) =>
    run(jobs.map(lineOf).join(''), {}, signal),
  );
  const worker: Worker = new Worker(
    new Client({ url: env.DIBS_URL, key: env.DIBS_KEY }),
    {
      ...settings,
      concurrency: settings.concurrency * settings.batch,
      decode: () => undefined,
      observe(event) {
        if (event.type === 'retrying')
          process.stderr.write(
            `dibs work: trying again in ${event.seconds.toFixed(1)} s: ${(event.error as Error)?.message}\n`,
          );
      },
    },
    async (job) => {
      const ended =
        settings.batch > 1 ? await batches.add(job) : await run(job.payloadText, envOf(job), job.signal);
      return outcomeOf(ended, settings, job.signal);
    },
  );
  let isAsked = false;
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.on(name, () => {
      void worker.stop(isAsked ? { deadlineSeconds: 0 } : {});
      isAsked = true;
    });
  for (const name of ['SIGHUP', 'SIGUSR2'] as const) process.on(name, () => passOn(name));
  process.on('exit', killAll);
  await worker.run();
  killAll();
  if (notFound) throw new UsageError(`The command cannot be run: ${notFound.message}`);
}
