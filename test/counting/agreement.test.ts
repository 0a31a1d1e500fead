import { afterEach, expect, test } from 'vitest';
import { JOB_STATES } from '../../src/job.ts';
import { scrape } from '../support/metrics.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let service: Service;
afterEach(() => service.stop());

const QUEUES = 300;

/** Puts jobs into many queues behind the back of the replica. */
async function fill(queues: number, jobs: number): Promise<void> {
  await onAll(
    service.databaseUrl,
    `insert into dibs.queues (name) select 'q' || n from generate_series(1, ${queues}) n`,
  );
  await onAll(
    service.databaseUrl,
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload)
     select q.id, (left(gen_random_uuid()::text, 30) || lpad(to_hex(q.id), 6, '0'))::uuid, 'ready', now(), 0, 5, 4, '{}', 'null' from dibs.queues q, generate_series(1, ${jobs})`,
  );
}

test('the series of the first scrape, and of every later one, count all jobs: those of queues beyond METRICS_QUEUES are in (other)', async () => {
  service = await startService({ metricsQueues: 3 });
  await fill(QUEUES, 667);
  const { claim } = moves(service);
  for (let i = 0; i < 20; i++) {
    const read = await scrape(service);
    expect(read.sum('dibs_queue_jobs'), `scrape ${i}`).toBe(QUEUES * 667);
    // A claimed job changes its state, and its queue becomes busy: it may get a row. A claim right after the jobs were put in by
    // hand may find none yet: the replica was not told of them.
    await claim(`q${1 + (i % 7)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
});

test('after a load has ended, GET /queues, GET /queues/{queue}, the overview and /metrics tell the same numbers', async () => {
  service = await startService({ metricsQueues: 20 });
  // A page counts up to 10,000 jobs anew: these queues are small.
  await fill(QUEUES, 20);
  const { ok, claim, enqueueAll, settle } = moves(service);
  await ok('GET', '/overview');
  const names = Array.from({ length: QUEUES }, (_, i) => `q${i + 1}`);
  await Promise.all(
    [0, 1, 2, 3].map(async (worker) => {
      for (let i = worker; i < 120; i += 4) {
        const queue = names[(i * 37) % QUEUES] as string;
        await enqueueAll([{ queue }, { queue, delay_seconds: 600 }]);
        const [one, two] = await claim(queue, { limit: 3 });
        if (one) await settle('ack', one);
        if (two) await settle('nack', two, { retry: false });
      }
    }),
  );
  const listed: Record<string, Record<string, number>> = {};
  for (let after = ''; ; ) {
    const page = await ok('GET', `/queues?limit=100${after}`);
    for (const { name, counts } of page.queues) listed[name] = counts;
    if (!page.next_cursor) break;
    after = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  const sumOf = (state: string) =>
    Object.values(listed).reduce((sum, counts) => sum + (counts[state] ?? 0), 0);
  const sums = Object.fromEntries(JOB_STATES.map((state) => [state, sumOf(state)]));
  expect(sums).toMatchObject({ scheduled: 120, leased: 120, dead: 120 });
  for (const name of names.slice(0, 10))
    expect((await ok('GET', `/queues/${name}`)).counts).toEqual(listed[name]);

  // The overview and the metrics are counted every 4 s or more.
  const same = async (look: () => Promise<unknown>) =>
    until(async () => JSON.stringify(await look()) === JSON.stringify(sums), { everyMs: 500 }).catch(
      async () => expect(await look()).toEqual(sums),
    );
  await same(async () => (await ok('GET', '/overview')).counts);
  await same(async () => {
    const read = await scrape(service);
    return Object.fromEntries(JOB_STATES.map((state) => [state, read.sum('dibs_queue_jobs', { state })]));
  });
  const { queues } = await ok('GET', '/overview?limit=1000');
  expect(queues.length).toBeGreaterThan(100);
  for (const { name, counts } of queues) expect(counts, name).toEqual(listed[name]);
  const read = await scrape(service);
  const [own] = [...read.series.keys()].flatMap(
    (key) => /^dibs_queue_jobs\{queue="(q\d+)"/.exec(key)?.[1] ?? [],
  );
  const told = JOB_STATES.map((state) => [
    state,
    read.value('dibs_queue_jobs', { queue: own as string, state }),
  ]);
  expect(Object.fromEntries(told)).toEqual(listed[own as string]);
});
