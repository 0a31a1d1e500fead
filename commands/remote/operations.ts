import {
  getOperation,
  listOperations,
  type Operation,
  stopOperation,
} from '../../clients/typescript/src/generated.ts';
import { shown } from '../shown.ts';
import { type Cli, examples, STATUS } from './cli.ts';
import { ended, operationText, statusOfOperation } from './operation.ts';
import { type PageOptions, showPages, withPages } from './pages.ts';
import { sayIfUnknown } from './queueNames.ts';
import type { Session } from './session.ts';
import { fields } from './table.ts';
import { fromNow } from './terminal.ts';

interface ListOptions extends PageOptions {
  queue?: string;
  state?: Operation['state'];
}

async function list(session: Session, options: ListOptions): Promise<undefined> {
  const row = (one: Operation) => [
    one.id,
    one.verb,
    one.queue,
    one.state,
    fromNow(one.created_at),
    operationText(one),
  ];
  const items = await showPages(
    session,
    options,
    (page) =>
      session.ask((caller) =>
        listOperations(caller, { ...page, queue: options.queue, state: options.state }),
      ),
    {
      headings: ['ID', 'VERB', 'QUEUE', 'STATE', 'AGE', 'PROGRESS'],
      rows: ({ operations }) => operations.map(row),
      none: 'No operations.',
    },
  );
  if (items === 0 && options.queue !== undefined) await sayIfUnknown(session, options.queue);
}

async function show(session: Session, options: { wait?: boolean }, id: string): Promise<number> {
  const first = await session.ask((caller) => getOperation(caller, id));
  const answer = options.wait ? await ended(session, first) : first;
  session.show(answer, (one) =>
    fields(
      [
        ['id', one.id],
        ['verb', one.verb],
        ['queue', one.queue],
        ['to', one.to],
        ['filter', JSON.stringify(one.filter)],
        ['dry run', one.dry_run ? 'yes' : ''],
        ['state', one.state],
        ['progress', operationText(one)],
        ['started', one.created_at],
        ['ended', one.finished_at],
      ],
      session.paint,
    ),
  );
  return statusOfOperation(answer.value);
}

async function stop(session: Session, _options: object, id: string): Promise<number> {
  const answer = await session.ask((caller) => stopOperation(caller, id));
  session.show(answer, (one) => shown`${one.state}: ${operationText(one)}.\n`);
  return STATUS.done;
}

export function add({ program, act }: Cli): void {
  const operations = program
    .command('operations')
    .summary('operations on many jobs, and their progress')
    .description(
      'Operations on many jobs: those that `dibs cancel`, `retry`, `delete` and `move` started, and others.',
    )
    .helpCommand(false);
  examples(
    withPages(
      operations
        .command('list', { isDefault: true })
        .summary('list them, newest first')
        .option('--queue <queue>', 'only those of this queue')
        .option('--state <state>', 'only those in this state: running, done, cancelled, failed'),
    ).action(act(list)),
    'dibs operations --state running',
  );
  examples(
    operations
      .command('show <id>')
      .summary('show one')
      .option('--wait', 'wait for its end')
      .action(act(show)),
    'dibs operations show 01a1f5c2-77aa-7000-8000-0000000000c1 --wait',
  );
  examples(
    operations.command('stop <id>').summary('stop one; what it has done is not undone').action(act(stop)),
    'dibs operations stop 01a1f5c2-77aa-7000-8000-0000000000c1',
  );
}
