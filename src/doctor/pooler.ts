import type pg from 'pg';
import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import { connected, type Patient } from './patient.ts';

const statements = { backend: planned('doctor/backend') };

const ROUNDS = 5;

/** `none`: the server itself answers. The others are the modes of PgBouncer. */
type Mode = 'none' | 'session' | 'transaction' | 'statement';

const pidOf = async (client: pg.Client) => (await rowsOf(client, statements.backend))[0]?.pid ?? 0;

const isRefused = (work: Promise<unknown>) =>
  work.then(
    () => false,
    () => true,
  );

/** A pooler that gives each statement another connection refuses transactions, and may hang up. */
const refusesTransactions = (url: string) =>
  connected(url, (client) =>
    isRefused(
      (async () => {
        await client.query('begin');
        await pidOf(client);
        await client.query('rollback');
      })(),
    ),
  );

/** Two clients that are connected at once have the same process of the server only behind a pooler that shares it. */
async function isShared(a: pg.Client, b: pg.Client): Promise<boolean> {
  const pids = { a: new Set<number>(), b: new Set<number>() };
  for (let round = 0; round < ROUNDS; round++) {
    pids.a.add(await pidOf(a));
    pids.b.add(await pidOf(b));
  }
  return pids.a.size > 1 || pids.b.size > 1 || [...pids.a].some((pid) => pids.b.has(pid));
}

async function modeOf(url: string): Promise<Mode> {
  const shared = await connected(url, async (a) => {
    // The number that a server gives with the key to cancel is that of its process. A pooler makes one up.
    const { processID } = a as unknown as { processID: number };
    if ((await pidOf(a)) === processID) return undefined;
    return connected(url, (b) => isShared(a, b));
  });
  if (shared === undefined) return 'none';
  if (!shared) return 'session';
  return (await refusesTransactions(url)) ? 'statement' : 'transaction';
}

/** Whether two clients may have a prepared statement of the same name, as two replicas have. */
const keepsPreparedApart = (url: string) =>
  connected(url, (a) =>
    connected(url, async (b) => {
      for (let round = 0; round < ROUNDS; round++)
        for (const [client, value] of [
          [a, 1],
          [b, 2],
        ] as const) {
          const named = { name: 'dibs_doctor', text: `values (${value})` };
          if (await isRefused(client.query(named))) return false;
        }
      return true;
    }),
  );

async function checkListening(url: string): Promise<Finding> {
  const mode = await modeOf(url);
  if (mode === 'none' || mode === 'session') return ok('listen', 'Notifications reach the replicas.');
  return warning(
    'listen',
    `LISTEN goes through a pooler in ${mode} mode, so it hears nothing.`,
    'A claim that waits is served up to a second late, unless the job came through the same replica.',
    'Let DATABASE_LISTEN_URL name the server itself.',
  );
}

/** Findings of this check end the examination: nothing more can be looked at. */
export const STATEMENT_MODE = 'A pooler in statement mode stands between.';

async function checkMode(url: string, mode: Mode): Promise<Finding> {
  if (mode === 'none') return ok('pooler', 'No pooler stands between.');
  if (mode === 'statement')
    return problem(
      'pooler',
      STATEMENT_MODE,
      'Dibs needs transactions. It cannot serve.',
      'Set pool_mode = transaction in the pooler.',
    );
  if (mode === 'transaction' && !(await keepsPreparedApart(url)))
    return problem(
      'pooler',
      'A pooler in transaction mode stands between. It mixes up the prepared statements of its clients.',
      'Calls fail with SQLSTATE 26000 or 42P05.',
      'Use PgBouncer 1.21 or newer, and set max_prepared_statements = 200 there.',
    );
  return ok('pooler', `A pooler in ${mode} mode stands between.`);
}

/** What stands between Dibs and the server. */
export async function checkPooler({
  url,
  listenUrl,
}: Pick<Patient, 'url' | 'listenUrl'>): Promise<Finding[]> {
  const mode = await modeOf(url);
  const pooler = await checkMode(url, mode);
  return mode === 'statement' ? [pooler] : [pooler, await checkListening(listenUrl ?? url)];
}
