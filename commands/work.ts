import { RawJson } from '../clients/typescript/src/caller.ts';
import {
  Client,
  type JobSignal,
  Nack,
  Release,
  Worker,
  type WorkerJob,
} from '../clients/typescript/src/index.ts';
import { culpritOf, type Ended, killAll, passOn, runProgram } from './program.ts';
import { isJson } from './remote/jsonText.ts';
import { parsed, UsageError } from './usage.ts';
import { createBatches } from './workBatches.ts';
import { type Env, inherited, withEnvironment } from './workEnvironment.ts';
import { sayer, workLog } from './workLog.ts';
import { USAGE, type WorkSettings, workSettings } from './workSettings.ts';

const RETRY = 75;
const DEAD = 100;

/** One line of `--batch`. Line breaks in JSON stand between values only, so a space means the same. */
const lineOf = (job: WorkerJob) => {
  const { id, queue, attempt, deliveries, headers } = job;
  const rest = JSON.stringify({ id, queue, attempt, deliveries, headers }).slice(0, -1);
  return `${rest},"payload":${job.payloadText.replaceAll(/[\r\n]/g, ' ')}}\n`;
};

/** JSON as the command wrote it, or else its text. */
const resultOf = (output: string): unknown =>
  isJson(output) ? new RawJson(output.trim()) : output.replace(/\r?\n$/, '');

/** What the end of the command means for the job. */
export function outcomeOf(ended: Ended, settings: WorkSettings, signal: AbortSignal): unknown {
  if (ended.code === 0 && !ended.isTimedOut) return settings.isResult ? resultOf(ended.stdout) : undefined;
  // It was told to end: that is no failure of the job.
  if (signal.aborted) throw signal.reason as JobSignal;
  // So was another job of its batch.
  if (ended.isTold) throw new Release();
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
  const say = workLog({ isJson: settings.isJson, env });
  const base = inherited(env);
  let unusable: Error | undefined;
  const run = async (input: string, extra: Env, signal: AbortSignal) => {
    try {
      return await runProgram(settings.command, { input, env: { ...base, ...extra }, signal, ...settings });
    } catch (error) {
      const why = `the command cannot be run: ${(error as Error).message}`;
      const culprit = culpritOf(error as Error, extra);
      if (culprit === 'the job') throw new Nack(why);
      if (culprit === 'the machine') {
        say('warn', why);
        throw new Release({ delaySeconds: settings.retrySeconds });
      }
      // Other jobs would fare no better.
      unusable = error as Error;
      void worker.stop();
      throw new Release();
    }
  };
  const batches = createBatches(settings.batch, settings.concurrency, (jobs, signal) =>
    run(jobs.map(lineOf).join(''), {}, signal),
  );
  const client = parsed(() => Client.fromEnv(env));
  const worker: Worker = new Worker(
    client,
    {
      ...settings,
      concurrency: settings.concurrency * settings.batch,
      decode: () => undefined,
      // A command that is ended runs again, though the lease may be extended after the outage (docs/decisions/0084).
      signalExpired: false,
      logger: null,
      observe: sayer(say, settings.stopSeconds),
    },
    async (job) => {
      const ended =
        settings.batch > 1
          ? await batches.add(job)
          : await withEnvironment(job, (extra) => run(job.payloadText, extra, job.signal));
      return outcomeOf(ended, settings, job.signal);
    },
  );
  for (const name of ['SIGHUP', 'SIGUSR2'] as const) process.on(name, () => passOn(name));
  process.on('exit', killAll);
  const { queues, concurrency, command, name } = settings;
  say(
    'info',
    `runs ${command[0]} for jobs of ${queues.join(', ')} at ${client.url} as ${name}, ${concurrency} at once`,
    {
      url: client.url,
      worker: name,
      queues,
      concurrency,
      command: command[0],
    },
  );
  await worker.runUntilSignal();
  killAll();
  if (unusable) throw new UsageError(`The command cannot be run: ${unusable.message}`);
}
