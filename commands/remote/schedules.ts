import { RawJson } from '../../clients/typescript/src/caller.ts';
import {
  deleteSchedule,
  getSchedule,
  listSchedules,
  putSchedule,
  type Schedule,
  type ScheduleSpec,
  triggerSchedule,
} from '../../clients/typescript/src/generated.ts';
import { shown, shownLines } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples } from './cli.ts';
import { jsonOf, textIn } from './input.ts';
import { type JobOptions, specOf, withJobOptions } from './jobOptions.ts';
import { members, objectOf, pretty } from './jsonText.ts';
import { type PageOptions, showPages, withPages } from './pages.ts';
import { sayIfUnknown } from './queueNames.ts';
import type { Session } from './session.ts';
import { fromNow } from './terminal.ts';

interface PutOptions extends JobOptions {
  cron: string;
  timezone?: string;
  queue?: string;
  paused?: boolean;
  file?: string;
  text?: boolean;
}

async function list(session: Session, options: PageOptions): Promise<undefined> {
  const row = ({ name, cron, timezone, job, next_run_at, last_run_at, last_error }: Schedule) => [
    name,
    cron,
    timezone,
    job.queue ?? 'default',
    next_run_at === null ? 'paused' : `${last_error === null ? '' : 'refused, due '}${fromNow(next_run_at)}`,
    fromNow(last_run_at),
  ];
  await showPages(session, options, (page) => session.ask((caller) => listSchedules(caller, page)), {
    headings: ['NAME', 'CRON', 'ZONE', 'QUEUE', 'NEXT', 'LAST'],
    rows: ({ schedules }) => schedules.map(row),
    none: 'No schedules.',
  });
}

async function show(session: Session, _options: object, name: string): Promise<undefined> {
  const answer = await session.ask((caller) => getSchedule(caller, name));
  session.show(answer, () => shown`${shownLines(pretty(answer.text))}\n`);
}

async function put(session: Session, options: PutOptions, name: string, given?: string): Promise<undefined> {
  if (given !== undefined && options.file !== undefined)
    throw new UsageError('Give the payload in one way: as an argument or --file.');
  const file = given === '-' ? '-' : options.file;
  const text = file === undefined ? given : await textIn(file, session.terminal);
  const payload = text === undefined ? undefined : jsonOf(text, options.text);
  const parts: [string, string][] = [
    ['cron', JSON.stringify(options.cron)],
    ['paused', String(options.paused === true)],
    ['job', specOf(options.queue ?? 'default', payload, options)],
  ];
  if (options.timezone !== undefined) parts.push(['timezone', JSON.stringify(options.timezone)]);
  const body = new RawJson(objectOf(parts)) as unknown as ScheduleSpec;
  const answer = await session.ask((caller) => putSchedule(caller, name, body));
  session.show(
    answer,
    ({ next_run_at }) => shown`${name} ${next_run_at ? `ticks next at ${next_run_at}` : 'is paused'}.\n`,
  );
  await sayIfUnknown(session, options.queue ?? 'default', ' The first tick makes it.');
}

/** The schedule as it is, but for this. Its payload stays as it was sent. */
const setPaused =
  (paused: boolean) =>
  async (session: Session, _options: object, name: string): Promise<undefined> => {
    const { text } = await session.ask((caller) => getSchedule(caller, name));
    const parts = new Map(members(text)).set('paused', String(paused));
    const body = new RawJson(objectOf(parts)) as unknown as ScheduleSpec;
    const answer = await session.ask((caller) => putSchedule(caller, name, body));
    session.show(answer, () => shown`${name} ${paused ? 'is paused' : 'ticks again'}.\n`);
  };

async function trigger(session: Session, _options: object, name: string): Promise<undefined> {
  session.show(await session.ask((caller) => triggerSchedule(caller, name)), ({ id }) => shown`${id}\n`);
}

async function remove(session: Session, options: { yes?: boolean }, name: string): Promise<undefined> {
  await session.confirm(shown`This deletes schedule "${name}".`, options);
  session.show(
    await session.ask((caller) => deleteSchedule(caller, name)),
    () => shown`Schedule "${name}" is deleted.\n`,
  );
}

export function add({ program, act }: Cli): void {
  const schedules = program
    .command('schedules')
    .summary('jobs by cron')
    .description('Schedules: at each tick of its cron, one job goes into its queue.')
    .helpCommand(false);
  examples(
    withPages(schedules.command('list', { isDefault: true }).summary('list schedules')).action(act(list)),
    'dibs schedules',
  );
  examples(
    schedules.command('show <name>').summary('show a schedule').action(act(show)),
    'dibs schedules show nightly',
  );
  examples(
    withJobOptions(
      schedules
        .command('put <name> [payload]')
        .summary('create a schedule, or replace it whole')
        .requiredOption('--cron <cron>', 'when it ticks, such as "0 3 * * *"')
        .option('--timezone <zone>', 'the time zone of the cron (default: UTC)')
        .option('--queue <queue>', 'the queue of its jobs (default: "default")')
        .option('--paused', 'create it paused')
        .option('--file <file>', 'the payload is in this file ("-": standard input)')
        .option('--text', 'the payload is text, and is sent as a string'),
      ['batch'],
    ).action(act(put)),
    `dibs schedules put nightly --cron "0 3 * * *" --timezone Europe/Berlin --queue reports '{"kind": "daily"}'`,
  );
  for (const [verb, paused, summary] of [
    ['pause', true, 'pause a schedule'],
    ['resume', false, 'resume a schedule'],
  ] as const)
    examples(
      schedules
        .command(`${verb} <name>`)
        .summary(summary)
        .action(act(setPaused(paused))),
      `dibs schedules ${verb} nightly`,
    );
  examples(
    schedules.command('trigger <name>').summary('enqueue its job now').action(act(trigger)),
    'dibs schedules trigger nightly',
  );
  examples(
    schedules
      .command('delete <name>')
      .summary('delete a schedule')
      .option('--yes', 'do not ask')
      .action(act(remove)),
    'dibs schedules delete nightly',
  );
}
