import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOtherDatabase, onServer, openClient } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const NAMES = ['home', 'a', 'b'] as const;
/** The survivor dozes so soon. */
const AWAKE_MS = 500;
const JOBS = 6000;

let databases: Record<(typeof NAMES)[number], Awaited<ReturnType<typeof createOtherDatabase>>>;
let survivor: Service;
let doomed: Replica;
beforeAll(async () => {
  const [home, a, b] = await Promise.all([
    createOtherDatabase(),
    createOtherDatabase(),
    createOtherDatabase(),
  ]);
  databases = { home, a, b };
  survivor = await startService({
    databaseUrl: home.url,
    others: { a: a.url, b: b.url },
    rescueGraceSeconds: 1,
    restTimes: { awakeMs: AWAKE_MS },
  });
  doomed = await startReplica({ DATABASE_URL: home.url, DATABASE_URL_A: a.url, DATABASE_URL_B: b.url });
});
afterAll(async () => {
  await doomed.end('SIGKILL');
  await survivor.stop();
  for (const { drop } of Object.values(databases)) await drop();
});

/** What home has noted of the relocation of a queue. Nobody asks the survivor. */
async function noted(queue: string): Promise<{ phase: string; state: string } | undefined> {
  const rows = await onServer<{ phase: string; state: string }>(
    databases.home.url,
    'select phase, state from dibs.relocations where queue = $1',
    [queue],
  );
  return rows[0];
}

test('a relocation goes on whose replica was killed, though the others doze', async () => {
  await survivor.call('PUT', '/queues/big', { database: 'a' });
  for (let made = 0; made < JOBS; made += 1000)
    await survivor.call('POST', '/jobs/batch', { jobs: Array(1000).fill({ queue: 'big' }) });
  // By then it dozes.
  await sleep(4 * AWAKE_MS);
  expect(await http(doomed.url, 'POST', '/queues/big/relocate', { to: 'b' })).toMatchObject({ status: 202 });
  await until(async () => (await noted('big'))?.phase === 'leaving', { everyMs: 10 });
  await doomed.end('SIGKILL');
  expect(await noted('big')).toMatchObject({ phase: 'leaving', state: 'running' });
  await until(async () => (await noted('big'))?.state === 'done', { withinMs: 60_000 });
  const { body } = await survivor.call('GET', '/queues/big');
  expect(body).toMatchObject({ database: 'b', counts: { ready: JOBS } });
});

test('other replicas that rest are told before a relocation begins', async () => {
  await survivor.call('PUT', '/queues/told', { database: 'a' });
  const heard: (string | undefined)[] = [];
  const client = await openClient(databases.home.url);
  client.on('notification', ({ payload }) => heard.push(payload));
  await client.query('listen dibs');
  // By then it was told too long ago.
  await sleep(3000);
  heard.length = 0;
  await survivor.call('POST', '/queues/told/relocate', { to: 'b', dry_run: true });
  await until(() => heard.some((payload) => payload?.startsWith('active ')), { withinMs: 5000 });
  await client.end();
});

/** A replica has looked, and something was due. It made a job for a queue elsewhere, and was killed before it had sent it. */
const leaveOnItsWay = (queue: string) =>
  onServer(
    databases.home.url,
    `with looked as (select pg_notify('dibs', 'looked killed 0')),
     made as (select dibs.new_id(queue_id) as id, queue_id, name from dibs.placements where name = $1)
     insert into dibs.relay (id, queue_id, queue, job, bytes)
     select id, queue_id, name,
       row(id, 0, null, 0, 5, null, '{}', '1', null, null, null, null, null, null)::dibs.new_job, 3
     from made, looked`,
    [queue],
  );

test('what a killed replica made for another database arrives, though the others doze', async () => {
  await doomed.end('SIGKILL');
  await survivor.call('PUT', '/queues/elsewhere', { database: 'b' });
  await sleep(6 * AWAKE_MS);
  await leaveOnItsWay('elsewhere');
  await until(
    async () => {
      const rows = await onServer(
        databases.b.url,
        `select from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = 'elsewhere'`,
      );
      return rows.length === 1;
    },
    { withinMs: 15_000 },
  );
});
