import { DibsError } from '../../clients/typescript/src/errors.ts';
import {
  deleteQueue,
  explainQueue,
  getQueue,
  type JobState,
  listQueues,
  type PurgeRequest,
  pauseGroup,
  pauseQueue,
  purgeQueue,
  type Queue,
  redriveQueue,
  resumeGroup,
  resumeQueue,
} from '../../clients/typescript/src/generated.ts';
import { JOB_STATES } from '../../src/job.ts';
import { count, counted } from '../counted.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number } from './cli.ts';
import { stateOption } from './filters.ts';
import { type PageOptions, showPages, withPages } from './pages.ts';
import { checkQueue } from './queueNames.ts';
import { addQueueSet, configPairs } from './queueSet.ts';
import type { Session } from './session.ts';
import { type Cell, fields } from './table.ts';
import { lasting } from './terminal.ts';

/** How long an act on a whole queue may take. */
const LONG = { timeoutSeconds: 3600 };

const ageOf = ({ oldest_ready_age_seconds: age }: Queue) => (age === null ? '' : lasting(age));

async function queues(session: Session, options: PageOptions): Promise<undefined> {
  const headings = ['QUEUE', 'READY', 'SCHEDULED', 'BLOCKED', 'LEASED', 'DEAD', 'OLDEST', '', ''];
  const row = ({ name, counts, paused, database, ...queue }: Queue): Cell[] => [
    name,
    counts.ready,
    counts.scheduled,
    counts.blocked,
    counts.leased,
    counts.dead,
    ageOf({ name, counts, paused, ...queue }),
    paused ? 'paused' : '',
    database,
  ];
  await showPages(session, options, (page) => session.ask((caller) => listQueues(caller, page)), {
    headings,
    rows: (page) => page.queues.map(row),
    none: 'No queues.',
  });
}

async function show(session: Session, _options: object, name: string): Promise<undefined> {
  const answer = await session.ask((caller) => getQueue(caller, name));
  const now = session.isJson ? '' : (await session.ask((caller) => explainQueue(caller, name))).value.detail;
  session.show(answer, (queue) =>
    fields(
      [
        ['queue', queue.name],
        ['database', queue.database],
        ['paused', queue.paused ? 'yes' : 'no'],
        ['paused groups', queue.paused_groups?.join(', ')],
        ['now', now],
        ['oldest ready', ageOf(queue)],
        ...JOB_STATES.map((state): [string, Cell] => [state, count(queue.counts[state])]),
        ...configPairs(queue),
        ['created', queue.created_at],
      ],
      session.paint,
    ),
  );
}

/** The API makes a queue that is not there. Most often its name is mistyped, so the command line asks for it in so many words. */
async function pause(
  session: Session,
  { create, group }: { create?: boolean; group?: string },
  names: string[],
): Promise<undefined> {
  for (const name of create ? [] : names)
    await checkQueue(session, name, shown`\`dibs pause --create\` makes a queue that is not there.`);
  for (const name of names)
    if (group === undefined)
      session.show(
        await session.ask((caller) => pauseQueue(caller, name)),
        () => shown`${name} is paused.\n`,
      );
    else
      session.show(
        await session.ask((caller) => pauseGroup(caller, name, group)),
        () => shown`Group ${group} of ${name} is paused.\n`,
      );
}

async function resume(session: Session, { group }: { group?: string }, names: string[]): Promise<undefined> {
  for (const name of names)
    if (group === undefined)
      session.show(
        await session.ask((caller) => resumeQueue(caller, name)),
        () => shown`${name} is resumed.\n`,
      );
    else
      session.show(
        await session.ask((caller) => resumeGroup(caller, name, group)),
        () => shown`Group ${group} of ${name} is resumed.\n`,
      );
}

async function purge(
  session: Session,
  options: { state: JobState[]; yes?: boolean },
  name: string,
): Promise<undefined> {
  const states = options.state as PurgeRequest['states'];
  if (!options.yes) {
    const { counts } = (await session.ask((caller) => getQueue(caller, name))).value;
    const jobs = states.map((state) => `${count(counts[state])} ${state}`).join(', ');
    await session.confirm(shown`This deletes jobs of queue "${name}", for ever: ${jobs}.`, options);
  }
  const answer = await session.ask((caller) => purgeQueue(caller, name, { states }, LONG));
  session.show(answer, (purged) => shown`${counted(purged.count)} deleted.\n`);
}

async function redrive(
  session: Session,
  options: { limit?: number; errorContains?: string; home?: boolean },
  name: string,
): Promise<undefined> {
  const { limit, errorContains: error_contains, home } = options;
  const answer = await session.ask((caller) =>
    redriveQueue(caller, name, { limit, error_contains, home }, LONG),
  );
  const verbs = home
    ? { one: 'is back in its queue', many: 'are back in their queues' }
    : { one: 'is ready again', many: 'are ready again' };
  session.show(answer, ({ count }) => shown`${counted(count, 'job', verbs)}.\n`);
}

async function remove(
  session: Session,
  options: { force?: boolean; yes?: boolean },
  name: string,
): Promise<undefined> {
  if (!options.yes) {
    const { counts } = (await session.ask((caller) => getQueue(caller, name))).value;
    const jobs = Object.values(counts).reduce((sum, more) => sum + more, 0);
    const what = options.force ? ` and its ${counted(jobs)}, leased ones included` : '';
    await session.confirm(shown`This deletes queue "${name}"${what}, for ever.`, options);
  }
  try {
    const answer = await session.ask((caller) =>
      deleteQueue(caller, name, { force: options.force, ...LONG }),
    );
    session.show(answer, () => shown`Queue "${name}" is deleted.\n`);
  } catch (error) {
    if (error instanceof DibsError && error.code === 'queue_not_empty')
      throw new UsageError(
        `Queue "${name}" has jobs, or a batch that is not finished. --force deletes them, too.`,
      );
    throw error;
  }
}

const PURGEABLE = JOB_STATES.filter((state) => state !== 'leased');

export function add(cli: Cli): void {
  const { program, act } = cli;
  examples(
    withPages(
      program
        .command('queues')
        .summary('list queues')
        .description('Lists queues by name, with how many jobs they have.'),
    ).action(act(queues)),
    'dibs queues',
  );
  const queue = program
    .command('queue')
    .summary('show, configure or delete a queue')
    .description('`dibs queue NAME` shows a queue, its configuration, and what a claim would get now.')
    .usage('<name> | set <name> [options] | delete <name> [options]')
    .helpCommand(false);
  examples(
    queue.command('show <name>', { isDefault: true }).summary('show a queue').action(act(show)),
    'dibs queue mail',
  );
  addQueueSet(queue, cli);
  examples(
    queue
      .command('delete <name>')
      .summary('delete a queue')
      .description('Deletes a queue that has no jobs. It asks first.')
      .option('--force', 'delete its jobs, too, leased ones included')
      .option('--yes', 'do not ask')
      .action(act(remove)),
    'dibs queue delete mail --force',
  );
  examples(
    program
      .command('pause <queues...>')
      .summary('pause a queue: claims get none of its jobs')
      .description('A paused queue accepts jobs, but claims get none. Jobs that are leased go on.')
      .option('--create', 'create the queue, paused, if there is none')
      .option('--group <name>', 'pause this group only, and let the others go on')
      .action(act(pause)),
    'dibs pause mail',
    'dibs pause sync --group customer-42',
  );
  examples(
    program
      .command('resume <queues...>')
      .summary('resume a queue')
      .description('Lets claims get jobs of a paused queue again.')
      .option('--group <name>', 'resume this group, which was paused by itself')
      .action(act(resume)),
    'dibs resume mail',
    'dibs resume sync --group customer-42',
  );
  examples(
    program
      .command('purge <queue>')
      .summary('delete all jobs of a queue in some states')
      .description(
        'Deletes all jobs of a queue in some states. It says how many there are, and asks. For a filter, see `dibs delete`.',
      )
      .addOption(stateOption('jobs in these states', PURGEABLE).makeOptionMandatory())
      .option('--yes', 'do not ask')
      .action(act(purge)),
    'dibs purge mail --state dead cancelled',
  );
  examples(
    program
      .command('redrive <queue>')
      .summary('make dead jobs ready again')
      .description(
        'Makes the dead jobs of a queue ready again, oldest first. For more filters, see `dibs retry --queue`. With --home, the jobs of a dead letter queue go back to the queues from which they came.',
      )
      .option('--home', 'send dead letters back, in place of dead jobs')
      .option('--limit <n>', 'how many jobs at most', number(1))
      .option('--error-contains <text>', 'only those whose last error contains this')
      .action(act(redrive)),
    'dibs redrive mail --error-contains "SMTP 421"',
    'dibs redrive mail.dead --home',
  );
}
