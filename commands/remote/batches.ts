import { randomUUID } from 'node:crypto';
import { batchOf } from '../../clients/typescript/src/batch.ts';
import { RawJson } from '../../clients/typescript/src/caller.ts';
import {
  type Batch,
  type BatchSpec,
  cancelBatch,
  closeBatch,
  createBatch,
  explainBatch,
  getBatch,
  listBatches,
} from '../../clients/typescript/src/generated.ts';
import { JOB_STATES } from '../../src/job.ts';
import { count, counted } from '../counted.ts';
import { showProgress } from '../progress.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, STATUS } from './cli.ts';
import { jsonOf } from './input.ts';
import { type JobLines, jobsIn, withJobLines } from './jobLines.ts';
import { specOf } from './jobOptions.ts';
import { isJson, objectOf } from './jsonText.ts';
import { type PageOptions, showPages, withPages } from './pages.ts';
import { missingOf, sayIfUnknown } from './queueNames.ts';
import { repeated } from './repeated.ts';
import type { Answer, Session } from './session.ts';
import { type Cell, fields } from './table.ts';
import { fromNow } from './terminal.ts';

interface ListOptions extends PageOptions {
  queue?: string;
  state?: Batch['state'];
}

interface ShowOptions {
  wait?: boolean;
  close?: boolean;
  cancel?: boolean;
  explain?: boolean;
  yes?: boolean;
}

interface CreateOptions extends JobLines {
  name?: string;
  onSuccess?: string;
  onEnd?: string;
  closed?: boolean;
  idempotencyKey?: string;
}

/** How many jobs a batch is created with, at most. */
const MOST_JOBS = 1000;
/** The cancel of a large batch takes its time. */
const LONG = { timeoutSeconds: 3600 };
/** How often somebody who waits hears how far a batch is: on a terminal, elsewhere. Its end is told at once. */
const SCREEN_SECONDS = 1;
const LOG_SECONDS = 5;

const waitingIn = ({ counts: { scheduled, ready, blocked } }: Batch) => scheduled + ready + blocked;
const finishedIn = ({ counts: { completed, cancelled, dead } }: Batch) => completed + cancelled + dead;
const totalOf = (batch: Batch) => waitingIn(batch) + batch.counts.leased + finishedIn(batch);
const hasEnded = ({ state }: Batch) => state === 'succeeded' || state === 'ended';

async function list(session: Session, options: ListOptions): Promise<undefined> {
  const row = (batch: Batch): Cell[] => [
    batch.id,
    batch.name,
    batch.queue,
    batch.state,
    `${count(finishedIn(batch))}/${count(totalOf(batch))}`,
    batch.counts.dead,
    fromNow(batch.created_at),
  ];
  const { queue, state } = options;
  const items = await showPages(
    session,
    options,
    (page) => session.ask((caller) => listBatches(caller, { ...page, queue, state })),
    {
      headings: ['ID', 'NAME', 'QUEUE', 'STATE', 'DONE', 'DEAD', 'AGE'],
      rows: ({ batches }) => batches.map(row),
      none: 'No batches.',
    },
  );
  if (items === 0 && queue !== undefined) await sayIfUnknown(session, queue);
}

/** Waits for the end of a batch. On standard error, it says how far the batch is. */
async function ended(session: Session, first: Answer<Batch>): Promise<Answer<Batch>> {
  const { stderr } = session.terminal;
  const { id, state } = first.value;
  if (hasEnded(first.value)) return first;
  if (state === 'open') session.say(shown`The batch is open: it ends only after it is closed.`);
  const shownProgress = showProgress('Finished', stderr, undefined, finishedIn(first.value));
  const say: Session['say'] = (text) => {
    if (stderr.isTTY) stderr.write('\r\x1b[K');
    session.say(text);
  };
  const wait_seconds = stderr.isTTY ? SCREEN_SECONDS : LOG_SECONDS;
  let latest = first;
  while (!hasEnded(latest.value)) {
    latest = await repeated({ say }, () => session.ask((caller) => getBatch(caller, id, { wait_seconds })));
    const { dead } = latest.value.counts;
    const more = dead > 0 ? `, ${count(dead)} dead` : '';
    shownProgress.progress(finishedIn(latest.value), totalOf(latest.value), more);
  }
  shownProgress.end();
  return latest;
}

async function cancel(session: Session, options: ShowOptions, id: string): Promise<Answer<Batch>> {
  if (!options.yes) {
    const { value } = await session.ask((caller) => getBatch(caller, id));
    const what = value.name === null ? `batch ${id}` : `batch "${value.name}"`;
    await session.confirm(
      shown`This cancels ${counted(waitingIn(value), 'waiting job')} of ${what}. Nothing follows its end.`,
      options,
    );
  }
  return session.ask((caller) => cancelBatch(caller, id, LONG));
}

function changed(session: Session, options: ShowOptions, id: string): Promise<Answer<Batch>> {
  if (options.cancel) return cancel(session, options, id);
  return session.ask((caller) => (options.close ? closeBatch(caller, id) : getBatch(caller, id)));
}

async function explain(session: Session, id: string): Promise<number> {
  const answer = await session.ask((caller) => explainBatch(caller, id));
  session.show(answer, ({ detail, code }) => shown`${detail} (${code})\n`);
  return STATUS.done;
}

async function show(session: Session, options: ShowOptions, id: string): Promise<number> {
  if (options.explain && (options.wait || options.close || options.cancel))
    throw new UsageError('--explain only looks: it goes with no other option.');
  if (options.close && options.cancel)
    throw new UsageError('--cancel closes the batch, too: leave out --close.');
  if (options.explain) return explain(session, id);
  const first = await changed(session, options, id);
  const answer = options.wait ? await ended(session, first) : first;
  const now = session.isJson ? '' : (await session.ask((caller) => explainBatch(caller, id))).value.detail;
  session.show(answer, (batch) =>
    fields(
      [
        ['id', batch.id],
        ['name', batch.name],
        ['queue', batch.queue],
        ['state', batch.state],
        ['done', `${count(finishedIn(batch))} of ${counted(totalOf(batch))}`],
        ['now', now],
        ...JOB_STATES.map((state): [string, Cell] => [state, count(batch.counts[state])]),
        ['followers', batch.followers.join(', ')],
        ['created', batch.created_at],
        ['closed', batch.closed_at],
        ['finished', batch.finished_at],
      ],
      session.paint,
    ),
  );
  // Who cancels it wants this end.
  return answer.value.state === 'ended' && !options.cancel ? STATUS.failed : STATUS.done;
}

/** The queue of a job as the body of `POST /jobs`. */
const queueOf = (job: string): string => String(JSON.parse(job).queue ?? 'default');

/** `QUEUE`, `QUEUE=PAYLOAD`, or a whole job: as the body of `POST /jobs`. @throws UsageError */
function followerOf(option: string, given: string, isText: boolean | undefined): string {
  if (given.startsWith('{')) {
    if (isJson(given)) return given;
    throw new UsageError(`The job of ${option} is not valid JSON: ${given.slice(0, 60)}`);
  }
  const [, queue, payload] = /^([^=]+)(?:=(.*))?$/s.exec(given) ?? [];
  if (queue === undefined)
    throw new UsageError(`${option} takes QUEUE, QUEUE=PAYLOAD or a job as JSON, not "${given}".`);
  const json = payload === undefined ? undefined : jsonOf(payload, isText, `The payload of ${option}`);
  return specOf(queue, json, {});
}

async function create(session: Session, options: CreateOptions, queue: string): Promise<undefined> {
  const { name, onSuccess, onEnd, closed, ndjson, specs, text } = options;
  if (ndjson !== undefined && specs !== undefined)
    throw new UsageError('Give the jobs in one way: --ndjson or --specs.');
  const parts: [string, string][] = [['queue', JSON.stringify(queue)]];
  if (name !== undefined) parts.push(['name', JSON.stringify(name)]);
  const followers: [string, string][] = [];
  if (onSuccess !== undefined) followers.push(['on_success', followerOf('--on-success', onSuccess, text)]);
  if (onEnd !== undefined) followers.push(['on_end', followerOf('--on-end', onEnd, text)]);
  parts.push(...followers);
  if (closed) parts.push(['closed', 'true']);
  const jobs: string[] = [];
  if (ndjson !== undefined || specs !== undefined)
    for await (const job of jobsIn(session.terminal, queue, { ndjson, specs, text }))
      if (jobs.push(job) > MOST_JOBS)
        throw new UsageError(
          `A batch is created with ${counted(MOST_JOBS)} at most. Create it without --closed and without jobs, put them in with \`dibs enqueue --batch\`, and close it.`,
        );
  parts.push(['jobs', `[${jobs.join(',')}]`]);
  const body = new RawJson(objectOf(parts)) as unknown as BatchSpec;
  const missing = await missingOf(session, [queue, ...followers.map(([, job]) => queueOf(job))]);
  const idempotency_key = options.idempotencyKey ?? randomUUID();
  const answer = await repeated(session, async () => {
    const created = await session.ask((caller) => createBatch(caller, body, { idempotency_key }));
    batchOf(created.value);
    return created;
  });
  session.show(answer, ({ id }) => shown`${id}\n`);
  for (const name of missing)
    session.say(shown`There was no queue ${JSON.stringify(name)}. The batch made it.`);
}

export function add({ program, act }: Cli): void {
  examples(
    withPages(
      program
        .command('batches')
        .summary('list batches')
        .description(
          'Lists batches, newest first. DONE says how many of their jobs are finished: completed, cancelled or dead.',
        )
        .option('--queue <queue>', 'only those of this queue')
        .option('--state <state>', 'only those in this state: open, running, succeeded, ended'),
    ).action(act(list)),
    'dibs batches --state running',
  );
  const batch = program
    .command('batch')
    .summary('show, create, await, close or cancel a batch')
    .description(
      '`dibs batch ID` shows a batch: jobs that belong together, what waits for their end, and how far they are.',
    )
    .usage('<id> [options] | create <queue> [options]')
    .helpCommand(false);
  examples(
    batch
      .command('show <id>', { isDefault: true })
      .summary('show a batch')
      .description(
        'Shows a batch. The exit status is 1 when it has ended, and some of its jobs are dead or cancelled.',
      )
      .option('--wait', 'wait for its end; standard error says how far it is')
      .option('--close', 'close it: no more jobs come in, and it can end')
      .option('--cancel', 'cancel its waiting jobs, and let nothing follow it; it asks first')
      .option('--explain', 'only say what it waits for')
      .option('--yes', 'do not ask')
      .action(act(show)),
    'dibs batch "$id" --wait && echo "all completed"',
    'dibs batch "$id" --close --wait',
    'dibs batch "$id" --cancel --yes',
  );
  examples(
    withJobLines(
      batch
        .command('create <queue>')
        .summary('create a batch, and print its id')
        .description(
          'Creates a batch, and prints its id. Whoever may use this queue may use the batch. Its jobs come with --ndjson or --specs, up to 1,000 of them, or later with `dibs enqueue --batch`. While Dibs is away, the same request is repeated for 30 seconds. It counts once.\n\nA follower is QUEUE, QUEUE=PAYLOAD, or a job as POST /jobs takes it.',
        )
        .option('--name <name>', 'a name, for people')
        .option('--on-success <follower>', 'the job to enqueue when all jobs are completed')
        .option('--on-end <follower>', 'the job to enqueue when all jobs are finished')
        .option('--closed', 'no more jobs come in')
        .option(
          '--idempotency-key <key>',
          'a repeat with the same key creates nothing more (default: a new key)',
        )
        .option('--text', 'payloads are text, and are sent as strings'),
    ).action(act(create)),
    'id=$(dibs batch create pages --name "issue 12" --on-success books=12)',
    'printf "%s\\n" *.png | dibs batch create thumbnails --text --ndjson - --on-end gallery --closed',
    `dibs batch create pages --on-end '{"queue": "books", "priority": 5, "payload": 12}'`,
  );
}
