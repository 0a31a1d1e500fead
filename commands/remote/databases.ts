import {
  configureDatabase,
  type Database,
  listDatabases,
  relocateQueue,
} from '../../clients/typescript/src/generated.ts';
import { counted } from '../counted.ts';
import { shown } from '../shown.ts';
import { type Cli, examples } from './cli.ts';
import { type ActOptions, heldText, operate } from './operation.ts';
import type { Session } from './session.ts';
import { type Cell, table } from './table.ts';

async function list(session: Session): Promise<undefined> {
  const headings = ['DATABASE', 'STATE', 'QUEUES', 'READY', 'SCHEDULED', 'BLOCKED', 'LEASED', 'DEAD'];
  const row = ({ name, state, queues, counts }: Database): Cell[] => [
    name,
    state,
    queues,
    counts?.ready,
    counts?.scheduled,
    counts?.blocked,
    counts?.leased,
    counts?.dead,
  ];
  session.show(await session.ask(listDatabases), ({ databases }) =>
    table(headings, databases.map(row), session.terminal.stdout, session.paint),
  );
}

const accept =
  (accepts_queues: boolean) =>
  async (session: Session, _options: object, name: string): Promise<undefined> => {
    const answer = await session.ask((caller) => configureDatabase(caller, name, { accepts_queues }));
    session.show(
      answer,
      () => shown`Database "${name}" ${accepts_queues ? 'takes' : 'takes no'} new queues.\n`,
    );
  };

function relocate(session: Session, options: ActOptions, queue: string, to: string): Promise<number> {
  const what = `This relocates queue "${queue}" to database "${to}".`;
  return operate(
    session,
    {
      what,
      question: (look) => `${what} It has ${counted(look.matched, 'job')}${heldText(look)}.`,
      start: (dry_run) => session.ask((caller) => relocateQueue(caller, queue, { to, dry_run })),
      evenWithout: true,
    },
    options,
  );
}

export function add({ program, act }: Cli): void {
  const databases = program
    .command('databases')
    .summary('list the databases, open or close one for new queues')
    .description('The PostgreSQLs behind this Dibs. Without several, there is one: home.')
    .helpCommand(false);
  examples(
    databases
      .command('list', { isDefault: true })
      .summary('list databases')
      .description('Lists the databases, with how many queues and jobs they have.')
      .action(act(list)),
    'dibs databases',
  );
  examples(
    databases
      .command('close <database>')
      .summary('put no new queues there')
      .description('No new queue goes there, unless `dibs queue set --database` says so. Its queues go on.')
      .action(act(accept(false))),
    'dibs databases close east',
  );
  examples(
    databases
      .command('open <database>')
      .summary('put new queues there again')
      .action(act(accept(true))),
    'dibs databases open east',
  );
  examples(
    program
      .command('relocate <queue> <database>')
      .summary('move a queue to another database')
      .description(
        'Moves a queue to another database, with all of its jobs, leases and keys. Calls for the queue wait meanwhile. It counts the ' +
          'jobs first, tells how long calls will wait, and asks. It runs in the background, also after this command has ended.',
      )
      .option('--dry-run', 'only count the jobs, and tell how long calls will wait')
      .option('--detach', 'print the id of the operation, and do not wait for its end')
      .option('--yes', 'do not ask')
      .action(act(relocate)),
    'dibs relocate mail.welcome east',
  );
}
