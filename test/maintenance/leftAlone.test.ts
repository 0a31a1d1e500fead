import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbedded } from '../../src/embedded/index.ts';
import { QUIET_MS } from '../support/atRest.ts';
import { onServer, transactionsOf } from '../support/database.ts';
import { filledDataDir } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

const LEFT_ALONE_SECONDS = 60;
/** PostgreSQL counts by then what a session did that is idle since. */
const COUNTED_SECONDS = 13;
const DUE_SECONDS = QUIET_MS / 1000 + COUNTED_SECONDS + LEFT_ALONE_SECONDS + 10;

let directory: Awaited<ReturnType<typeof filledDataDir>>;
let server: EmbeddedPostgres;
const replicas: Replica[] = [];

beforeAll(async () => {
  directory = await filledDataDir();
  // Autovacuum makes transactions of its own.
  const settings = { fsync: 'off', autovacuum: 'off' };
  server = await startEmbedded({ dataDir: directory.path, log: () => undefined, settings });
  const node: [string, ...string[]] = [process.execPath, '--import', './test/support/laterClock.mjs'];
  for (let i = 0; i < 2; i++) replicas.push(await startReplica({ DATABASE_URL: server.url }, '.', node));
});
afterAll(async () => {
  for (const replica of replicas) await replica.end('SIGTERM');
  await server.stop();
  await directory.remove();
});

test('a database that nobody needs for a minute has no transaction in it, and what is due after that is done', async () => {
  const [first] = replicas as [Replica];
  const { body: due } = await http(first.url, 'POST', '/jobs', { queue: 'due', delay_seconds: DUE_SECONDS });
  await http(first.url, 'POST', '/jobs', { queue: 'far', delay_seconds: 24 * 3600 });
  await sleep(QUIET_MS);
  // Five minutes pass: nobody has asked for so long.
  for (const { pid } of replicas) process.kill(pid, 'SIGUSR2');
  await sleep(COUNTED_SECONDS * 1000);
  const before = await transactionsOf(server.url);
  // The connection that asks makes two.
  expect((await transactionsOf(server.url)) - before).toBe(2);
  await sleep(LEFT_ALONE_SECONDS * 1000);
  expect((await transactionsOf(server.url)) - before).toBe(4);
  await until(async () => {
    const [job] = await onServer<{ state: string }>(server.url, 'select state from dibs.jobs where id = $1', [
      due.id,
    ]);
    return job?.state === 'ready';
  });
});
