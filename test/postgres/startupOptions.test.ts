import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { prepared } from '../../src/postgres/statements.ts';
import { createOtherDatabase } from '../support/database.ts';
import { startService } from '../support/service.ts';

const now = prepared('postgres/now');

/** A cancel request, and the question for TLS, are no starts. */
const START = 196608;

type Created = Awaited<ReturnType<typeof createOtherDatabase>>;
const created: Created[] = [];
let home: Created;
let other: Created;
beforeAll(async () => {
  home = await createOtherDatabase();
  other = await createOtherDatabase();
  created.push(home, other);
});
afterAll(async () => {
  for (const database of created) await database.drop();
});

/** A way to a database that notes what each connection asks for at its start. */
async function watched(to: string) {
  const starts: string[] = [];
  const server = createServer((near) => {
    const far = connect(Number(new URL(to).port), '127.0.0.1');
    near.once('data', (chunk) => {
      if (chunk.readInt32BE(4) === START) starts.push(chunk.toString('utf8', 8));
      far.write(chunk);
      near.pipe(far);
    });
    far.pipe(near);
    for (const [socket, end] of [
      [near, far],
      [far, near],
    ] as const)
      socket.on('error', () => undefined).on('close', () => end.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    starts,
    port,
    urlWith(options: string): string {
      const url = new URL(to);
      url.host = `127.0.0.1:${port}`;
      return `${url.href}${url.search ? '&' : '?'}options=${options}`;
    },
    close: () => server.close(),
  };
}

test('every connection has the options of its URL, as PgDog takes the shard from them', async () => {
  const [first, second] = [await watched(home.url), await watched(other.url)];
  const service = await startService({
    databaseUrl: first.urlWith('-c%20pgdog.shard%3D0'),
    others: { b: second.urlWith('-c pgdog.shard=1') },
  });
  expect(await service.call('PUT', '/queues/mail', { database: 'b' })).toMatchObject({ status: 200 });
  expect(await service.call('POST', '/jobs', { queue: 'mail' })).toMatchObject({ status: 201 });
  await service.stop();
  for (const [{ starts }, shard] of [
    [first, 0],
    [second, 1],
  ] as const) {
    expect(starts.length).toBeGreaterThan(1);
    for (const start of starts) expect(start).toContain(`\0options\0-c pgdog.shard=${shard}\0`);
  }
  first.close();
  second.close();
});

test('a migration, and a URL of several hosts, have them too', async () => {
  const way = await watched(home.url);
  const url = way
    .urlWith('-c%20pgdog.shard%3D0')
    .replace(`127.0.0.1:${way.port}`, `127.0.0.1:${way.port},localhost:${way.port}`);
  await migrate(url);
  const db = openDatabase(url, 1);
  await db.query(now, {});
  await db.close();
  expect(way.starts.length).toBeGreaterThan(2);
  for (const start of way.starts) expect(start).toContain('\0options\0-c pgdog.shard=0\0');
  way.close();
});
