import { randomUUID } from 'node:crypto';
import { backoffMs, pause } from '../../clients/typescript/src/backoff.ts';
import { RawJson } from '../../clients/typescript/src/caller.ts';
import { isTemporary } from '../../clients/typescript/src/errors.ts';
import {
  enqueueJob,
  enqueueJobs,
  type Job,
  type JobSpec,
  type JobSpecList,
} from '../../clients/typescript/src/generated.ts';
import { counted } from '../counted.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number, STATUS } from './cli.ts';
import { jsonOf, linesIn, textIn } from './input.ts';
import { type JobOptions, specOf, withJobOptions } from './jobOptions.ts';
import { members, objectOf } from './jsonText.ts';
import type { Session } from './session.ts';

interface Options extends JobOptions {
  file?: string;
  text?: boolean;
  ndjson?: string;
  specs?: string;
  idempotencyKey?: string;
  waitSeconds?: number;
}

/** A batch has at most so many jobs, and about so many bytes. */
const MOST_JOBS = 1000;
const MOST_BYTES = 8 * 2 ** 20;
const REPEAT_MS = 30_000;
const WAS = { one: 'was', many: 'were' };

/** The same request again, while Dibs is away for a moment. Its key lets it count once. */
async function repeated<T>(session: Session, send: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + REPEAT_MS;
  for (let failures = 0; ; failures++) {
    try {
      return await send();
    } catch (error) {
      const ms = backoffMs(failures, error);
      if (!isTemporary(error) || performance.now() + ms > endsAt) throw error;
      if (failures === 0)
        session.say(shown`dibs: ${(error as Error).message}\nTrying again for ${REPEAT_MS / 1000} s.`);
      await pause(ms);
    }
  }
}

async function one(session: Session, queue: string, payload: string | undefined, options: Options) {
  const spec = specOf(queue, payload, options);
  const idempotency_key = options.idempotencyKey ?? randomUUID();
  const prefer = options.waitSeconds === undefined ? undefined : `wait=${options.waitSeconds}`;
  const answer = await repeated(session, () =>
    session.ask((caller) => enqueueJob(caller, new RawJson(spec) as JobSpec, { idempotency_key, prefer })),
  );
  if (answer.value.deduplicated)
    session.say(shown`A job with this unique key is there already: this is its id.`);
  session.show(answer, ({ id }) => shown`${id}\n`);
}

/** One line of `--specs`: the body of `POST /jobs`. The queue of the command line is for those that name none. */
function specIn(line: string, queue: string): string {
  const given = members(line);
  if (!given) throw new UsageError(`A line of --specs must be an object, not ${line.slice(0, 60)}`);
  return given.has('queue') ? line : objectOf([['queue', JSON.stringify(queue)], ...given]);
}

async function many(session: Session, queue: string, options: Options): Promise<number> {
  const file = options.ndjson ?? options.specs ?? '-';
  const firstKey = options.idempotencyKey ?? randomUUID();
  let specs: string[] = [];
  let bytes = 0;
  let done = 0;
  const send = async () => {
    const body = new RawJson(`{"jobs":[${specs.join(',')}]}`) as unknown as JobSpecList;
    const idempotency_key = `${firstKey}-${done}`;
    const { text, value } = await repeated(session, () =>
      session.ask((caller) => enqueueJobs(caller, body, { idempotency_key })),
    ).catch((error) => {
      session.say(
        shown`${counted(done, 'job', WAS)} enqueued before this. The next ${counted(specs.length, 'job', WAS)} not:`,
      );
      throw error;
    });
    done += specs.length;
    if (session.isJson) session.json(text);
    else for (const { id } of value.jobs as Job[]) session.out(shown`${id}\n`);
    specs = [];
    bytes = 0;
  };
  try {
    for await (const { line, at } of linesIn(file, session.terminal)) {
      const json = jsonOf(line, options.text, `Line ${at}`);
      const spec = options.specs === undefined ? specOf(queue, json, options) : specIn(json, queue);
      if (specs.length > 0 && (specs.length === MOST_JOBS || bytes + spec.length > MOST_BYTES)) await send();
      specs.push(spec);
      bytes += spec.length;
    }
  } catch (error) {
    // What is wrong is known only when its line is read. By then, others may be enqueued.
    if (!(error instanceof UsageError) || done === 0) throw error;
    session.say(shown`${counted(done, 'job', WAS)} enqueued, and no more: ${error.message}`);
    return STATUS.failed;
  }
  if (specs.length > 0) await send();
  session.say(shown`Enqueued ${counted(done)}.`);
  return STATUS.done;
}

async function enqueue(
  session: Session,
  options: Options,
  queue: string,
  payloads: string[],
): Promise<number> {
  if (payloads.length > 1)
    throw new UsageError(
      `enqueue takes one payload, not ${payloads.length}: put it in quotes. Many jobs take --ndjson, with a payload on each line: printf '%s\\n' 1 2 | dibs enqueue ${queue} --ndjson -`,
    );
  const [given] = payloads;
  const ways = [given, options.file, options.ndjson, options.specs].filter((way) => way !== undefined);
  if (ways.length > 1)
    throw new UsageError('Give the payload in one way: as an argument, --file, --ndjson or --specs.');
  if (options.ndjson !== undefined || options.specs !== undefined) {
    return many(session, queue, options);
  }
  const file = given === '-' ? '-' : options.file;
  const text = file === undefined ? given : await textIn(file, session.terminal);
  await one(session, queue, text === undefined ? undefined : jsonOf(text, options.text), options);
  return STATUS.done;
}

export function add({ program, act }: Cli): void {
  const command = program
    .command('enqueue <queue> [payload...]')
    .usage('[options] <queue> [payload]')
    .summary('put a job, or many, into a queue')
    .description(
      'Puts a job into a queue, and prints its id. The payload is JSON, sent as it is, and null when there is none; "-" reads it from standard input.\n\n' +
        'While Dibs is away, the same request is repeated for 30 seconds. It counts once.',
    )
    .option('--file <file>', 'the payload is in this file ("-": standard input)')
    .option('--text', 'the payload is text, and is sent as a string')
    .option('--ndjson <file>', 'one job for each line, which is its payload ("-": standard input)')
    .option('--specs <file>', 'one job for each line, which is what POST /jobs takes ("-": standard input)')
    .option('--wait-seconds <n>', 'wait up to this long for the job to finish, 60 at most', number(0, 60))
    .option(
      '--idempotency-key <key>',
      'a repeat with the same key enqueues nothing more (default: a new key)',
    );
  examples(
    withJobOptions(command),
    `dibs enqueue mail '{"to": "ada@example.com"}'`,
    'dibs enqueue mail --delay-seconds 60 --file letter.json',
    'generate-letters | dibs enqueue mail --ndjson -',
  );
  command.action(act(enqueue));
}
