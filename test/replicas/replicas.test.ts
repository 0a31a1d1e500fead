import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Client, client } from '../support/client.ts';
import { createDatabase, onServer, urlOf } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const endAll = (replicas: Replica[]) => Promise.all(replicas.map((replica) => replica.end('SIGKILL')));

async function start(url: string, count: number): Promise<Replica[]> {
  const started = await Promise.allSettled(
    Array.from({ length: count }, () => startReplica({ DATABASE_URL: url, DATABASE_POOL_SIZE: '4' })),
  );
  const replicas = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failures = started.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
  if (failures.length > 0) await endAll(replicas);
  expect(failures).toEqual([]);
  return replicas;
}

test('ten replicas that start at once on an empty database all become ready, with one migration', async () => {
  const serverUrl = inject('postgresUrl');
  const name = `dibs_test_${randomBytes(6).toString('hex')}`;
  await onServer(serverUrl, `create database ${name} encoding 'UTF8' template template0`);
  undo.push(() => onServer(serverUrl, `drop database if exists ${name} with (force)`));
  const replicas = await start(urlOf(serverUrl, name), 10);
  undo.push(() => endAll(replicas));
  const answers = await Promise.all(replicas.map((replica) => http(replica.url, 'GET', '/readyz')));
  expect(answers.map((answer) => answer.status)).toEqual(replicas.map(() => 200));
  const applied = await onServer<{ version: number }>(
    urlOf(serverUrl, name),
    'select * from dibs.migrations order by version',
  );
  expect(applied.length).toBeGreaterThan(0);
  const told = replicas.flatMap((replica) => replica.lines.filter((line) => line.includes('migrated: ')));
  expect(told).toHaveLength(1);
  expect(told[0]).toContain(`(${applied.length})`);
});

describe('what one replica is told counts on the other', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let replicas: Replica[];
  let here: Client;
  let there: Client;
  beforeAll(async () => {
    database = await createDatabase();
    replicas = await start(database.url, 2);
    [here, there] = replicas.map(({ url }) => client(url)) as [Client, Client];
  });
  afterAll(async () => {
    await endAll(replicas);
    await database.drop();
  });

  test('a configuration put on one replica takes effect on the other within a second', async () => {
    const lease = async () => {
      await there.enqueue('config');
      const { body } = await http(there.url, 'POST', '/jobs/claim', { queues: ['config'] });
      const [{ lease_expires_at, max_attempts }] = body.jobs;
      return { seconds: (Date.parse(lease_expires_at) - Date.now()) / 1000, max_attempts };
    };
    expect((await lease()).seconds).toBeLessThan(31);
    for (const [lease_seconds, max_attempts] of [
      [1000, 7],
      [3000, 9],
    ] as const) {
      // These calls have the other replica look up the old configuration once more.
      await Promise.all([lease(), lease()]);
      await here.ok('PUT', '/queues/config', { lease_seconds, max_attempts });
      await sleep(1000);
      const found = await lease();
      expect(found.seconds).toBeGreaterThan(lease_seconds - 60);
      expect(found.max_attempts).toBe(max_attempts);
    }
  });

  test('a pause on one replica stops the claims of the other at once', async () => {
    for (let i = 0; i < 20; i++) {
      await here.enqueue('paused');
      expect(await there.claim('paused')).toHaveLength(1);
      await here.enqueue('paused');
      await here.ok('POST', '/queues/paused/pause');
      expect(await there.claim('paused')).toEqual([]);
      await here.ok('POST', '/queues/paused/resume');
      expect(await there.claim('paused')).toHaveLength(1);
    }
  });

  test('a queue deleted on one replica and created again takes jobs and gives them to claims on the other', async () => {
    await there.enqueue('again');
    await here.ok('DELETE', '/queues/again?force=true');
    const id = await there.enqueue('again');
    await until(async () => (await there.claim('again')).some((job) => job.id === id));
    expect((await here.ok('GET', `/jobs/${id}`)).state).toBe('leased');
  });
});
