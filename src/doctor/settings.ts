import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import type { Patient } from './patient.ts';

const statements = { settings: planned('doctor/settings'), state: planned('doctor/state') };

const OLDEST = 14;
const NEWEST = 18;
const NAMES = [
  'server_version',
  'server_version_num',
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'autovacuum',
  'track_counts',
  'statement_timeout',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
];

type Settings = Map<string, string>;
const isOff = (settings: Settings, name: string) => settings.get(name) === 'off';

function version(settings: Settings): Finding {
  const major = Math.floor(Number(settings.get('server_version_num')) / 10_000);
  const found = `PostgreSQL ${settings.get('server_version')}.`;
  if (major < OLDEST)
    return problem('version', found, `Dibs needs ${OLDEST} or newer.`, 'Upgrade the server.');
  if (major > NEWEST)
    return warning('version', found, `Dibs is tested on ${OLDEST} to ${NEWEST}.`, 'Look for a newer Dibs.');
  return ok('version', found);
}

/** Dibs sets it for its own transactions (sql/postgres/session.sql). */
function commits(settings: Settings): Finding {
  const name = 'synchronous_commit';
  const level = `${name} is ${settings.get(name)}.`;
  if (!isOff(settings, name)) return ok(name, level);
  return warning(
    name,
    level,
    'It does not hold for the service. A crash can lose jobs that dibs.enqueue put in from transactions of others.',
    `Set ${name} = on for the server, the database, and the roles that call dibs.enqueue.`,
  );
}

/** The settings without which an answered enqueue may be lost. */
function durability(settings: Settings): Finding[] {
  const lost = {
    fsync: 'A crash of the machine can lose or damage everything.',
    full_page_writes: 'A crash of the machine can damage the tables.',
  };
  const found = Object.entries(lost).map(([name, meaning]) =>
    isOff(settings, name)
      ? problem(name, `${name} is off.`, meaning, `Set ${name} = on for the server.`)
      : ok(name, `${name} is ${settings.get(name)}.`),
  );
  return [...found, commits(settings)];
}

function autovacuum(settings: Settings): Finding {
  const off = ['autovacuum', 'track_counts'].filter((name) => isOff(settings, name));
  if (off.length === 0) return ok('autovacuum', 'Autovacuum runs.');
  return problem(
    'autovacuum',
    `${off.join(' and ')} is off.`,
    'Nobody clears dead rows. The tables grow with every job, and counts get slower.',
    `Set ${off.join(' and ')} = on.`,
  );
}

function timeouts(settings: Settings, isEmbedded: boolean): Finding[] {
  const of = (name: string) => Number(settings.get(name) ?? 0);
  const found = (name: string) => `${name} is ${of(name) === 0 ? 'not set' : `${of(name) / 1000} s`}.`;
  const [statement, idle, open] = [
    'statement_timeout',
    'idle_session_timeout',
    'idle_in_transaction_session_timeout',
  ] as const;
  return [
    of(statement) > 0
      ? warning(
          statement,
          found(statement),
          'It does not hold for the service. It ends transactions of others that call dibs.enqueue and take longer.',
          `Run: alter role ... set ${statement} = 0 for the role of DATABASE_URL.`,
        )
      : ok(statement, found(statement)),
    of(idle) > 0
      ? warning(
          idle,
          found(idle),
          'It does not hold for the service. But a pooler between them loses its connections, and calls are answered 503 now and then.',
          `Run: alter role ... set ${idle} = 0 for the role of DATABASE_URL.`,
        )
      : ok(idle, found(idle)),
    of(open) === 0 && !isEmbedded
      ? warning(
          open,
          found(open),
          'A forgotten transaction keeps autovacuum from its work for as long as it stays open.',
          `Set ${open} for the server, for example to 10min.`,
        )
      : ok(open, found(open)),
  ];
}

/** What the server is, and how it is set up. */
export async function checkSettings({ client, isEmbedded }: Patient): Promise<Finding[]> {
  const rows = await rowsOf(client, statements.settings, { names: NAMES });
  const settings: Settings = new Map(rows.map(({ name, setting }) => [name ?? '', setting ?? '']));
  const [state] = await rowsOf(client, statements.state);
  return [
    version(settings),
    state?.encoding === 'UTF8'
      ? ok('encoding', 'The encoding is UTF8.')
      : problem(
          'encoding',
          `The encoding is ${state?.encoding}.`,
          'Dibs needs UTF8.',
          "Make another database: create database ... encoding 'UTF8' template template0.",
        ),
    state?.is_standby || state?.is_read_only
      ? problem(
          'writes',
          state.is_standby ? 'The server is a standby.' : 'Transactions are read-only here.',
          'Every call that changes something is answered 503.',
          state.is_standby
            ? 'Let DATABASE_URL name the primary, or promote this server.'
            : 'Set default_transaction_read_only = off for the server, the database and the role.',
        )
      : ok('writes', 'The server takes writes.'),
    ...durability(settings),
    autovacuum(settings),
    ...timeouts(settings, isEmbedded),
  ];
}
