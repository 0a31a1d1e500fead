import { ownName } from '../clients/typescript/src/node.ts';
import { argumentsIn, misused } from './arguments.ts';

export const USAGE = `Usage: dibs work QUEUE... [options] -- COMMAND [ARGUMENT...]

Runs COMMAND for each job: the payload on its standard input, DIBS_JOB_ID, DIBS_QUEUE, DIBS_ATTEMPT, DIBS_DELIVERIES and each header
as DIBS_HEADER_<NAME> in its environment. DIBS_HEADERS has all headers as JSON. Above 64 KiB, the file DIBS_HEADERS_FILE has them
instead. The lease is extended while it runs.

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
  --no-session         hold no session: the jobs of a worker that was killed wait until their leases end
  --resume-seconds N   how long after the loss of its connection the session can be resumed (5, up to 60)
  --name NAME          shown to people who look at a job (host:pid)
  --json               log in JSON. LOG_FORMAT=json does the same

DIBS_URL says where Dibs is (http://127.0.0.1:8080), DIBS_KEY has an access key or token.
DIBS_KEY_FILE has the name of a file with it, which is read again when the key is refused.
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
  'no-session': { type: 'boolean' },
  'resume-seconds': { type: 'string' },
  name: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export interface WorkSettings {
  queues: string[];
  command: [string, ...string[]];
  concurrency: number;
  batch: number;
  timeoutSeconds?: number;
  isResult: boolean;
  isJson: boolean;
  leaseSeconds?: number;
  waitSeconds?: number;
  stopSeconds: number;
  retrySeconds: number;
  session: boolean;
  resumeSeconds?: number;
  name?: string;
}

/** @throws UsageError */
export function workSettings(args: string[]): WorkSettings {
  const end = args.indexOf('--');
  if (end < 0) throw misused('dibs work needs a command, after "--".');
  const [program, ...rest] = args.slice(end + 1);
  if (program === undefined) throw misused('dibs work needs a command, after "--".');
  const { values, positionals } = argumentsIn({ args: args.slice(0, end), options, allowPositionals: true });
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
    isJson: values.json === true,
    leaseSeconds: seconds('lease-seconds'),
    waitSeconds: seconds('wait-seconds'),
    stopSeconds: seconds('stop-seconds') ?? 25,
    retrySeconds: seconds('retry-seconds') ?? 10,
    session: values['no-session'] !== true,
    resumeSeconds: seconds('resume-seconds'),
    name: values.name ?? ownName(),
  };
  if ((settings.resumeSeconds ?? 0) > 60) throw misused('--resume-seconds must be at most 60.');
  if (settings.timeoutSeconds === 0) throw misused('--timeout must be more than 0.');
  if (settings.concurrency * settings.batch > 1000)
    throw misused('--concurrency times --batch must be at most 1000.');
  if (settings.isResult && settings.batch > 1) throw misused('--result and --batch do not go together.');
  return settings;
}
