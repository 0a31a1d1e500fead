import { getQueueErrors, type QueueError, type QueueErrors } from '../../clients/typescript/src/generated.ts';
import { count } from '../counted.ts';
import { type Shown, shown, shownTogether } from '../shown.ts';
import { type Cli, examples } from './cli.ts';
import type { Session } from './session.ts';
import { type Cell, table } from './table.ts';
import { fromNow } from './terminal.ts';

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** How to go on: the command that retries the jobs of the first error that a text finds. */
function retryHint({ queue, errors }: QueueErrors): Shown {
  const mark = errors.find(({ error_contains }) => error_contains !== null)?.error_contains;
  if (mark == null) return shown``;
  return shown`\nTo retry some: dibs retry --queue ${queue} --error-contains ${quoted(mark)}\n`;
}

async function errors(session: Session, _options: object, queue: string): Promise<undefined> {
  const answer = await session.ask((caller) => getQueueErrors(caller, queue));
  session.show(answer, (found) => {
    if (found.errors.length === 0) return shown`No dead jobs.\n`;
    const row = ({ count, last_at, error }: QueueError): Cell[] => [
      count,
      fromNow(last_at),
      error ?? '(no error)',
    ];
    const { stdout } = session.terminal;
    return shownTogether([
      table(['JOBS', 'LAST', 'ERROR'], found.errors.map(row), stdout, session.paint),
      found.complete ? shown`` : shown`Of the newest ${count(found.looked_at)} dead jobs.\n`,
      retryHint(found),
    ]);
  });
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('errors <queue>')
      .summary('why jobs of a queue are dead')
      .description(
        'Groups the newest 5,000 dead jobs of a queue by the first line of their last error, with a # for each number and id.',
      )
      .action(act(errors)),
    'dibs errors mail',
  );
}
