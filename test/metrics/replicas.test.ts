import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { parseMetrics } from '../support/exposition.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
beforeAll(async () => {
  database = await createDatabase();
  const env = { DATABASE_URL: database.url };
  replicas = await Promise.all([startReplica(env), startReplica(env)]);
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

async function scrape(base: string) {
  const response = await fetch(`${base}/metrics`);
  expect(response.status).toBe(200);
  return parseMetrics(await response.text());
}

async function enqueue(base: string, queue: string, count: number): Promise<void> {
  const jobs = Array.from({ length: count }, () => ({ queue }));
  expect((await http(base, 'POST', '/jobs/batch', { jobs })).status).toBe(201);
}

/** Waits until a replica tells this total, and no other. */
async function reaches(base: string, queue: string, total: number): Promise<void> {
  let last: number | undefined;
  await until(
    async () => {
      last = (await scrape(base)).value('dibs_jobs_enqueued_total', { queue });
      return last === total;
    },
    { what: `a total of ${total}`, everyMs: 200 },
  ).catch(() => expect(last).toBe(total));
}

test('every replica tells the totals of all, and they outlive a replica that is killed, and one that stops', async () => {
  const [a, b] = replicas as [Replica, Replica];
  await enqueue(a.url, 'q', 3);
  await enqueue(b.url, 'q', 4);
  await reaches(a.url, 'q', 7);
  await reaches(b.url, 'q', 7);

  await enqueue(a.url, 'q', 10);
  await reaches(b.url, 'q', 17);
  await a.end('SIGKILL');
  await enqueue(b.url, 'q', 1);
  await reaches(b.url, 'q', 18);

  const c = await startReplica({ DATABASE_URL: database.url });
  replicas[0] = c;
  await reaches(c.url, 'q', 18);
  // What it counted last is added before it ends.
  await enqueue(c.url, 'q', 5);
  expect(await c.end('SIGTERM')).toBe(0);
  await reaches(b.url, 'q', 23);
});

test('replicas that count for a queue at the same time lose nothing', async () => {
  const [, b] = replicas as [Replica, Replica];
  const c = await startReplica({ DATABASE_URL: database.url });
  replicas[0] = c;
  for (let round = 0; round < 20; round++)
    await Promise.all([enqueue(b.url, 'both', 2), enqueue(c.url, 'both', 3)]);
  await reaches(b.url, 'both', 100);
  await reaches(c.url, 'both', 100);
});
