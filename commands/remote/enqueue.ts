import { randomUUID } from 'node:crypto';
import { RawJson } from '../../clients/typescript/src/caller.ts';
import {
  enqueueJob,
  enqueueJobs,
  type Job,
  type JobSpec,
  type JobSpecList,
} from '../../clients/typescript/src/generated.ts';
import { listIn } from '../../clients/typescript/src/shape.ts';
import { counted } from '../counted.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number, STATUS } from './cli.ts';
import { jsonOf, textIn } from './input.ts';
import { type JobLines, jobsIn, withJobLines } from './jobLines.ts';
import { type JobOptions, specOf, withJobOptions } from './jobOptions.ts';
import { repeated } from './repeated.ts';
import type { Session } from './session.ts';

interface Options extends JobOptions, JobLines {
  file?: string;
  idempotencyKey?: string;
  waitSeconds?: number;
}

/** A request has at most so many jobs, and about so many bytes. */
const MOST_JOBS = 1000;
const MOST_BYTES = 8 * 2 ** 20;
const WAS = { one: 'was', many: 'were' };

async function one(session: Session, queue: string, payload: string | undefined, options: Options) {
  const spec = specOf(queue, payload, options);
  const idempotency_key = options.idempotencyKey ?? randomUUID();
  const prefer = options.waitSeconds === undefined ? undefined : `wait=${options.waitSeconds}`;
  const body = new RawJson(spec) as JobSpec;
  const answer = await repeated(session, async () => {
    const enqueued = await session.ask((caller) => enqueueJob(caller, body, { idempotency_key, prefer }));
    listIn({ jobs: [enqueued.value] }, 'jobs');
    return enqueued;
  });
  if (answer.value.deduplicated)
    session.say(shown`A job with this unique key is there already: this is its id.`);
  session.show(answer, ({ id }) => shown`${id}\n`);
}

async function many(session: Session, queue: string, options: Options): Promise<number> {
  const firstKey = options.idempotencyKey ?? randomUUID();
  let specs: string[] = [];
  let bytes = 0;
  let done = 0;
  const send = async () => {
    const body = new RawJson(`{"jobs":[${specs.join(',')}]}`) as unknown as JobSpecList;
    const idempotency_key = `${firstKey}-${done}`;
    const { text, jobs } = await repeated(session, async () => {
      const { text, value } = await session.ask((caller) => enqueueJobs(caller, body, { idempotency_key }));
      return { text, jobs: listIn<Job>(value, 'jobs', specs.length) };
    }).catch((error) => {
      session.say(
        shown`${counted(done, 'job', WAS)} enqueued before this. The next ${counted(specs.length, 'job', WAS)} not:`,
      );
      throw error;
    });
    done += specs.length;
    if (session.isJson) session.json(text);
    else for (const { id } of jobs) session.out(shown`${id}\n`);
    specs = [];
    bytes = 0;
  };
  try {
    for await (const spec of jobsIn(session.terminal, queue, options)) {
      if (specs.length > 0 && (specs.length === MOST_JOBS || bytes + Buffer.byteLength(spec) > MOST_BYTES))
        await send();
      specs.push(spec);
      bytes += Buffer.byteLength(spec);
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
    .option('--text', 'the payload is text, and is sent as a string');
  withJobLines(command)
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
    'printf "%s\\n" *.png | dibs enqueue thumbnails --text --ndjson - --batch "$id"',
  );
  command.action(act(enqueue));
}
