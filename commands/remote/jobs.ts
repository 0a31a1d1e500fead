import {
  explainJob,
  explainQueue,
  getJob,
  getJobHistory,
  type HistoryEvent,
  type Job,
  type JobPage,
  type JobState,
  listJobs,
} from '../../clients/typescript/src/generated.ts';
import { JOB_STATES } from '../../src/job.ts';
import { otherFields } from '../../src/jobFields.ts';
import { counted } from '../counted.ts';
import { Shown, safe, shown, shownLines } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number } from './cli.ts';
import { type FilterOptions, filterOf, withFilter } from './filters.ts';
import { pretty } from './jsonText.ts';
import { type PageOptions, showPages, withPages } from './pages.ts';
import { sayIfUnknown } from './queueNames.ts';
import type { Session } from './session.ts';
import { type Cell, fields, table } from './table.ts';
import { fromNow, lasting, type Paint } from './terminal.ts';

interface ListOptions extends FilterOptions, PageOptions {
  queue?: string;
  state?: JobState;
  uniqueKey?: string;
  batch?: string;
  payloadContains?: string;
  oldest?: boolean;
  payload?: boolean;
}

/** What a list says of a job besides its state: when it goes on, or how it ended. */
function noteOf(job: Job): string {
  if (job.state === 'scheduled')
    return `runs ${fromNow(job.run_at)}${job.last_error ? `; ${job.last_error}` : ''}`;
  if (job.state === 'leased') return `${job.worker ?? ''} until ${job.lease_expires_at}`.trim();
  return job.last_error ?? '';
}

/** How far the searches of a list have looked. */
interface Search {
  jobs: number;
  to?: string | null | undefined;
  isWhole: boolean;
}

function goOn({ jobs }: Search, page: JobPage): Search {
  const { looked_at = 0, looked_to, next_cursor } = page;
  return { jobs: jobs + looked_at, to: looked_to, isWhole: next_cursor === null };
}

/** A search looks at a bounded number of jobs. So "no jobs" may say little. */
function searched({ jobs, to, isWhole }: Search): Shown {
  const last = to ? `, the last one enqueued ${fromNow(to)}` : '';
  return shown`Searched ${counted(jobs)} of this queue${last}.${isWhole ? ' That was all.' : ''}`;
}

async function jobs(session: Session, options: ListOptions): Promise<undefined> {
  let search: Search = { jobs: 0, isWhole: false };
  const headings = ['ID', 'QUEUE', 'STATE', 'AGE', 'ATTEMPT', options.payload ? 'PAYLOAD' : 'NOTE'];
  const row = (job: Job): Cell[] => [
    job.id,
    job.queue,
    job.state,
    fromNow(job.created_at),
    `${job.attempt}/${job.max_attempts}`,
    options.payload ? job.payload_text : noteOf(job),
  ];
  const items = await showPages(
    session,
    options,
    async (page) => {
      const answer = await session.ask((caller) =>
        listJobs(caller, {
          ...page,
          ...filterOf(options),
          queue: options.queue,
          state: options.state,
          unique_key: options.uniqueKey,
          batch: options.batch,
          payload_contains: options.payloadContains,
          order: options.oldest ? 'oldest' : undefined,
          include: options.payload ? 'payload' : undefined,
          payload_format: options.payload && !session.isJson ? 'text' : undefined,
        }),
      );
      search = goOn(search, answer.value);
      return answer;
    },
    { headings, rows: (page) => page.jobs.map(row), none: 'No jobs.' },
  );
  // With --all, it was the whole queue.
  if (search.jobs > 0 && !options.all && !session.isJson) session.say(searched(search));
  if (items === 0 && options.queue !== undefined) await sayIfUnknown(session, options.queue);
}

const cellOf = (value: unknown): Cell =>
  typeof value === 'string' || typeof value === 'number' ? value : jsonText(value);

const jsonText = (value: unknown) => (value === null || value === undefined ? '' : JSON.stringify(value));

/** The lines of a job by its fields. The payload comes last, and the attempts are on one line. */
const linesOf = (job: Job): Record<string, [string, Cell] | undefined> => ({
  id: ['id', job.id],
  queue: ['queue', job.queue],
  state: ['state', job.state],
  attempt: ['attempt', `${job.attempt} of ${job.max_attempts}`],
  max_attempts: undefined,
  deliveries: ['deliveries', job.deliveries],
  priority: ['priority', job.priority],
  group: ['group', job.group],
  fairness_key: ['fairness key', job.fairness_key],
  unique_key: ['unique key', job.unique_key],
  created_at: ['created', `${job.created_at} (${fromNow(job.created_at)})`],
  run_at: job.finished_at === null ? ['runs', `${job.run_at} (${fromNow(job.run_at)})`] : undefined,
  worker: ['worker', job.worker],
  lease_expires_at: ['leased until', job.lease_expires_at],
  finished_at: ['finished', job.finished_at],
  headers: ['headers', Object.keys(job.headers).length > 0 ? JSON.stringify(job.headers) : ''],
  progress: ['progress', jsonText(job.progress)],
  result: ['result', jsonText(job.result)],
  last_error: ['last error', job.last_error],
  payload: undefined,
});

function jobText(job: Job, paint: Paint): Shown {
  const known = linesOf(job);
  const others = otherFields(known).map((name): [string, Cell] => [
    name.replaceAll('_', ' '),
    cellOf((job as unknown as Record<string, unknown>)[name]),
  ]);
  const pairs = [...Object.values(known).filter((line) => line !== undefined), ...others];
  const payload = shownLines(pretty(job.payload_text ?? 'null'));
  return shown`${fields(pairs, paint)}${paint('bold', 'payload')}\n${payload}\n`;
}

async function job(
  session: Session,
  { waitSeconds, payload }: { waitSeconds?: number; payload?: boolean },
  id: string,
): Promise<undefined> {
  const isText = payload || !session.isJson;
  const answer = await session.ask((caller) =>
    getJob(caller, id, { wait_seconds: waitSeconds, payload_format: isText ? 'text' : undefined }),
  );
  if (payload) session.json(answer.value.payload_text ?? 'null');
  else session.show(answer, (found) => jobText(found, session.paint));
}

const indented = (line: string) => `    ${safe(line.trim())}`;
const textLines = (text = '') => text.split('\n');

function eventText({ at, worker, by, leased_at, error, attempt, run_at, ...event }: HistoryEvent): string {
  return [
    event.batch !== undefined && `in the batch ${event.batch}`,
    event.follows !== undefined && `follows the batch ${event.follows}`,
    attempt !== undefined && `attempt ${attempt}`,
    worker !== undefined && `by ${worker}`,
    at !== null &&
      leased_at !== undefined &&
      `after ${lasting((Date.parse(at) - Date.parse(leased_at)) / 1000)}`,
    by !== undefined && `key ${by}`,
    run_at !== undefined && `runs at ${run_at}`,
    textLines(error)[0],
  ]
    .filter(Boolean)
    .join(', ');
}

async function history(session: Session, _options: object, id: string): Promise<undefined> {
  const answer = await session.ask((caller) => getJobHistory(caller, id));
  session.show(answer, ({ events, truncated }) => {
    const rows = events.map((event) => [event.at ?? 'not known', event.event, eventText(event)]);
    const older = truncated ? ['Older events were dropped.'] : [];
    const [headings, ...lines] = table(['AT', 'EVENT', ''], rows, session.terminal.stdout, session.paint)
      .text.trimEnd()
      .split('\n');
    // A stack trace keeps its lines, below its event.
    const told = lines.flatMap((line, i) => [line, ...textLines(events[i]?.error).slice(1).map(indented)]);
    return new Shown(`${[...older, headings, ...told].join('\n')}\n`);
  });
}

async function explain(session: Session, { queue }: { queue?: string }, id?: string): Promise<undefined> {
  if ((id === undefined) === (queue === undefined))
    throw new UsageError('dibs explain takes the id of a job, or --queue with the name of a queue.');
  const answer = await session.ask(
    (caller): Promise<{ detail: string; code: string }> =>
      id === undefined ? explainQueue(caller, queue as string) : explainJob(caller, id),
  );
  session.show(answer, ({ detail, code }) => shown`${detail} (${code})\n`);
}

export function add({ program, act }: Cli): void {
  examples(
    withPages(
      withFilter(
        program
          .command('jobs')
          .summary('list jobs')
          .description('Lists jobs, newest first. They match all filters.')
          .option('--queue <queue>', 'only those of this queue')
          .option('--state <state>', `only those in this state: ${JOB_STATES.join(', ')}`)
          .option('--unique-key <key>', 'only those with this key')
          .option('--batch <id>', 'only those of this batch; beside it, only --queue and --state may filter')
          .option('--payload-contains <text>', 'only those whose payload contains this; it needs --queue'),
      )
        .option('--oldest', 'oldest first')
        .option('--payload', 'with their payloads'),
    ).action(act(jobs)),
    'dibs jobs --queue mail --state dead --error-contains "SMTP 421"',
    "dibs jobs --queue mail --all --json | jq -r '.jobs[].id'",
  );
  examples(
    program
      .command('job <id>')
      .summary('show a job')
      .description(
        'Shows a job with all its fields. With --json or --payload, the payload is exactly as it was sent.',
      )
      .option('--payload', 'only its payload')
      .option('--wait-seconds <n>', 'wait up to this long for it to finish, 60 at most', number(0, 60))
      .action(act(job)),
    'dibs job 01a1f5c2-77aa-7000-8000-0000000000c1',
  );
  examples(
    program
      .command('history <id>')
      .summary('what happened to a job')
      .description('Shows what happened to a job, oldest first: each lease, each error, who settled it.')
      .action(act(history)),
    'dibs history 01a1f5c2-77aa-7000-8000-0000000000c1',
  );
  examples(
    program
      .command('explain [id]')
      .summary('why a job is not running, or a claim gets nothing')
      .description(
        'Says why a job is not running. With --queue, what a claim from that queue would get, and if nothing, why.',
      )
      .option('--queue <queue>', 'explain this queue')
      .action(act(explain)),
    'dibs explain 01a1f5c2-77aa-7000-8000-0000000000c1',
    'dibs explain --queue mail',
  );
}
