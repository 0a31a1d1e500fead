import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { startService } from '../support/service.ts';

test('a service that has just started refuses nobody, because it waits until it knows the keys', async () => {
  const database = await createDatabase();
  const holder = new pg.Client(database.url);
  await holder.connect();
  await holder.query('begin; lock table dibs.access_state in access exclusive mode');
  const released = sleep(500).then(() => holder.query('commit'));
  const service = await startService({ databaseUrl: database.url });
  try {
    expect((await service.call('GET', '/queues')).status).toBe(200);
  } finally {
    await released;
    await holder.end();
    await service.stop();
    await database.drop();
  }
}, 60_000);
