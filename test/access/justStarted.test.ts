import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

test('a service that has just started refuses nobody, because it waits until it knows the keys', async () => {
  const database = await createDatabase();
  const holder = await openClient(database.url);
  await holder.query('begin; lock table dibs.access_state in access exclusive mode');
  const asks = "select from pg_locks where relation = 'dibs.access_state'::regclass and not granted";
  const released = until(async () => (await holder.query(asks)).rowCount)
    // A look at the keys has 4 s.
    .then(() => sleep(6000))
    .then(() => holder.query('commit'));
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
