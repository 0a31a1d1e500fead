import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { freePort } from '../../bench/lib/ports.mjs';
import { tryConnection } from '../../src/postgres/connection.ts';
import { causeOf } from '../../src/postgres/outageLog.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { onServer } from '../support/database.ts';
import { binaries } from '../support/debianPostgres.ts';
import { openRelay } from '../support/postgres.ts';
import { primaryAndStandby } from '../support/replication.ts';
import { until } from '../support/until.ts';

const folder = binaries();
const port = { text: 'select inet_server_port() as port', parameters: [] };

describe.skipIf(folder === undefined)('of several hosts', () => {
  let pair: Awaited<ReturnType<typeof primaryAndStandby>>;
  let db: Database;
  beforeAll(async () => {
    pair = await primaryAndStandby(folder as string);
    db = openDatabase(pair.url(), 2);
  });
  afterAll(async () => {
    await db?.close();
    await pair?.remove();
  });

  test('another cluster than the one that served is refused, also when nothing else answers', async () => {
    const server = new URL(inject('postgresUrl'));
    if (server.username !== 'postgres')
      await onServer(pair.primary.url, `create role "${server.username}" login`);
    const ports = { first: pair.primary.port, other: Number(server.port) };
    let target = ports.first;
    const port = await freePort();
    const relay = await openRelay(port, () => target);
    const hosts = `127.0.0.1:${port},127.0.0.1:${await freePort()}`;
    const url = inject('postgresUrl').replace(server.host, hosts).replace(server.pathname, '/postgres');
    await tryConnection(url);
    target = ports.other;
    const refusal = await tryConnection(url).catch((error) => error);
    expect(causeOf(refusal.cause)).toContain('it has the data of another cluster than before');
    await relay.cut();
  });

  test('a standby that is promoted while its primary lives on is noticed by a replica that reaches both, and from then on nothing goes to the old primary', async () => {
    expect(await db.query(port)).toEqual([{ port: pair.primary.port }]);
    await pair.promote();
    const isMoved = async () => {
      const [row] = await db.query(port).catch(() => []);
      return (row as { port?: number } | undefined)?.port === pair.standby.port;
    };
    await until(isMoved);
    for (let i = 0; i < 20; i++) expect(await db.query(port)).toEqual([{ port: pair.standby.port }]);
  });
});
