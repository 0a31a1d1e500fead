import { listWorkers, type WorkerNow } from '../../clients/typescript/src/generated.ts';
import { count } from '../counted.ts';
import { shown, shownTogether } from '../shown.ts';
import { type Cli, examples } from './cli.ts';
import type { Session } from './session.ts';
import { type Cell, table } from './table.ts';
import { fromNow } from './terminal.ts';

async function workers(session: Session, { queue }: { queue?: string }): Promise<undefined> {
  const answer = await session.ask((caller) => listWorkers(caller, { queue }));
  session.show(answer, (found) => {
    if (found.total === 0) return shown`No worker has a job now.\n`;
    const row = ({ worker, leased, since, next_lease_expires_at, queues }: WorkerNow): Cell[] => [
      worker ?? '(no name)',
      leased,
      fromNow(since),
      fromNow(next_lease_expires_at),
      queues.join(', '),
    ];
    const headings = ['WORKER', 'LEASED', 'SINCE', 'LEASE EXPIRES', 'QUEUES'];
    const { stdout } = session.terminal;
    const isWhole = found.complete && found.workers.length === found.total;
    return shownTogether([
      table(headings, found.workers.map(row), stdout, session.paint),
      isWhole ? shown`` : shown`${count(found.workers.length)} of at least ${count(found.total)} workers.\n`,
    ]);
  });
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('workers')
      .summary('who works now')
      .description(
        'Lists the workers that have jobs now, those with most leases first. A worker without a lease is not seen.',
      )
      .option('--queue <queue>', 'only those with jobs of this queue')
      .action(act(workers)),
    'dibs workers --queue mail',
  );
}
