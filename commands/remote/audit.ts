import { type AuditEntry, listAudit } from '../../clients/typescript/src/generated.ts';
import { type Cli, examples } from './cli.ts';
import { type PageOptions, showPages, withPages } from './pages.ts';
import type { Session } from './session.ts';

interface AuditOptions extends PageOptions {
  actor?: string;
  verb?: string;
  queue?: string;
  createdAfter?: string;
  createdBefore?: string;
}

const aboutOf = ({ job_id, schedule, key_id, database, details }: AuditEntry) =>
  [
    job_id ?? schedule ?? key_id ?? database ?? [],
    Object.entries(details).map(([name, value]) => (value === true ? name : `${name} ${value}`)),
  ]
    .flat()
    .join(', ');

async function audit(session: Session, options: AuditOptions): Promise<undefined> {
  const { actor, verb, queue, createdAfter: created_after, createdBefore: created_before } = options;
  const filter = { actor, verb, queue, created_after, created_before };
  const row = (entry: AuditEntry) => [
    entry.created_at,
    entry.actor,
    entry.verb,
    entry.outcome,
    entry.count,
    entry.queue,
    entry.address,
    aboutOf(entry),
  ];
  await showPages(
    session,
    options,
    (page) => session.ask((caller) => listAudit(caller, { ...page, ...filter })),
    {
      headings: ['AT', 'WHO', 'DID', 'OUTCOME', 'JOBS', 'QUEUE', 'FROM', 'ABOUT'],
      rows: ({ entries }) => entries.map(row),
      none: 'Nothing matches.',
    },
  );
}

export function add({ program, act }: Cli): void {
  examples(
    withPages(
      program
        .command('audit')
        .summary('who did what with the scope admin')
        .description(
          'Shows who did what with the scope admin, newest first. It needs that scope, for all queues.',
        )
        .option('--actor <name>', 'only what this key or token did')
        .option('--verb <verb>', 'only this, such as purgeQueue')
        .option('--queue <queue>', 'only in this queue')
        .option('--created-after <time>', 'only what was done at this time or later (RFC 3339)')
        .option('--created-before <time>', 'only what was done before this time'),
    ).action(act(audit)),
    'dibs audit --verb purgeQueue',
    'dibs audit --actor ada --created-after 2026-11-01T00:00:00Z',
  );
}
