import { afterAll, expect, test } from 'vitest';
import { createDatabase, onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';

const database = await createDatabase();
let service: Service | undefined;
afterAll(async () => {
  await service?.stop();
  await database.drop();
});

test('times are in UTC with milliseconds, whatever time zone the database is set to', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await onServer(database.url, `alter database ${name} set timezone = 'Asia/Kolkata'`);
  service = await startService({ databaseUrl: database.url });
  const inUtc = new Date(Math.floor(Date.now() / 1000) * 1000 + 86_400_500).toISOString();
  const elsewhere = new Date(Date.parse(inUtc) - 3.5 * 3_600_000).toISOString().replace('00Z', '-03:30');
  const { body } = await service.call('POST', '/jobs', { queue: 'far', run_at: elsewhere });
  expect(elsewhere).toMatch(/\.5-03:30$/);
  expect(body.run_at).toBe(inUtc);
  expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Math.abs(Date.parse(body.created_at) - Date.now())).toBeLessThan(60_000);
  expect((await service.call('GET', `/jobs/${body.id}`)).body.run_at).toBe(body.run_at);
});
