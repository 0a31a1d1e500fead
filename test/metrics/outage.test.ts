import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseMetrics } from '../support/exposition.ts';
import { unreliablePostgres } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

let postgres: Awaited<ReturnType<typeof unreliablePostgres>>;
let replica: Replica;
beforeAll(async () => {
  postgres = await unreliablePostgres();
  replica = await startReplica({ DATABASE_URL: postgres.url });
});
afterAll(async () => {
  await replica?.end('SIGKILL');
  await postgres?.remove();
});

async function scrape() {
  const response = await fetch(`${replica.url}/metrics`);
  expect(response.status).toBe(200);
  return parseMetrics(await response.text());
}

test('a scrape while the database is away answers what the replica knows, and that the database is away', async () => {
  expect((await http(replica.url, 'POST', '/jobs', { queue: 'q' })).status).toBe(201);
  const total = (read: Awaited<ReturnType<typeof scrape>>) =>
    read.value('dibs_jobs_enqueued_total', { queue: 'q' });
  await until(async () => total(await scrape()) === 1, { what: 'the job', everyMs: 200 });
  await postgres.stop();
  const away = await until(
    async () => {
      const read = await scrape();
      return read.value('dibs_database_up') === 0 ? read : undefined;
    },
    { what: 'dibs_database_up 0', everyMs: 200 },
  );
  expect(total(away)).toBe(1);
  expect(away.value('dibs_totals_age_seconds')).toBeGreaterThan(0);
  await until(
    async () => ((await scrape()).value('dibs_duty_failures_total', { duty: 'counting' }) ?? 0) > 0,
    {
      what: 'the failure of a duty',
    },
  );
  await postgres.start();
  const back = await until(
    async () => {
      const read = await scrape();
      return read.value('dibs_database_up') === 1 ? read : undefined;
    },
    { what: 'dibs_database_up 1', everyMs: 200 },
  );
  expect(total(back)).toBe(1);
});
