import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, client } from '../support/client.ts';
import { cutWhile } from '../support/cuts.ts';
import { createDatabase } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { onAll, relaysAreEmpty } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

/** Replicas start and are killed. A slow machine takes minutes for that. */
const TEN_MINUTES = 600_000;

let database: Awaited<ReturnType<typeof createDatabase>>;
let survivor: Replica;
beforeAll(async () => {
  database = await createDatabase();
  survivor = await start();
  await client(survivor.url).ok('PUT', '/queues/kept', { retention_seconds: 3600 });
});
afterAll(async () => {
  await survivor.end('SIGKILL');
  await database.drop();
});

const start = () => startReplica({ DATABASE_URL: database.url });

/** An ack or a nack with one follow-up. The queue `kept` keeps half of the jobs when they are done. */
interface Settlement {
  verb: 'ack' | 'nack';
  job: Claimed;
  next: string;
}

let queues = 0;

async function lease(count: number): Promise<Settlement[]> {
  const { ok, claim } = client(survivor.url);
  const next = `next-${++queues}`;
  const jobs = Array.from({ length: count }, (_, i) => ({ queue: i % 2 ? 'kept' : 'gone', max_attempts: 1 }));
  await ok('POST', '/jobs/batch', { jobs });
  const leased = await claim(['kept', 'gone'], { limit: count });
  expect(leased).toHaveLength(count);
  return leased.map((job, i) => ({ verb: i % 3 ? 'ack' : 'nack', job, next }));
}

/** The status of the answer. Undefined when the connection breaks. */
const settle = (
  { url }: Pick<Replica, 'url'>,
  { verb, job, next }: Settlement,
): Promise<number | undefined> =>
  http(url, 'POST', `/jobs/${job.id}/${verb}`, {
    lease_token: job.lease_token,
    enqueue: [{ queue: next, payload: job.id }],
  }).then(
    ({ status }) => status,
    () => undefined,
  );

/** Settles at the survivor, and repeats it while it is 503. */
const settled = (one: Settlement): Promise<number> =>
  until(
    async () => {
      const status = await settle(survivor, one);
      return status === 503 ? undefined : status;
    },
    { withinMs: 120_000, what: 'an answer that is not 503' },
  );

/** How many follow-ups each job has, and the jobs that still exist. */
async function found(next: string) {
  await relaysAreEmpty(database.url);
  const rows = await onAll<{ of: string }>(
    database.url,
    `select payload #>> '{}' as of from dibs.jobs where queue_id = (select id from dibs.queues where name = $1)`,
    [next],
  );
  const jobs = await onAll<{ id: string; state: string; enqueued: number | null }>(
    database.url,
    'select id, state, json_array_length(enqueued) as enqueued from dibs.jobs',
  );
  const times = new Map<string, number>();
  for (const { of } of rows) times.set(of, (times.get(of) ?? 0) + 1);
  return { times, jobs: new Map(jobs.map((job) => [job.id, job])) };
}

/** Fails unless a job has one follow-up when its settlement counted, and none otherwise. Returns how many counted. */
async function check(all: Settlement[], answers: (number | undefined)[]): Promise<number> {
  const { times, jobs } = await found(all[0]?.next as string);
  const wrong: string[] = [];
  let counted = 0;
  for (const [i, { verb, job }] of all.entries()) {
    const row = jobs.get(job.id);
    const counts = row?.state !== 'leased';
    if (counts) counted++;
    const seen = `${verb} of ${job.id} answered ${answers[i]}, ${row?.state ?? 'gone'}, ${times.get(job.id) ?? 0} follow-ups`;
    if ((times.get(job.id) ?? 0) !== (counts ? 1 : 0)) wrong.push(seen);
    if (answers[i] === 200 && !counts) wrong.push(seen);
    if (row?.state === 'completed' && row.enqueued !== 1) wrong.push(seen);
  }
  expect(wrong).toEqual([]);
  return counted;
}

const RUNS = 5;

test('kill -9 of a replica in the middle of many settlements: a follow-up exists if and only if its settlement counted', {
  timeout: TEN_MINUTES,
}, async () => {
  const shares: number[] = [];
  let next = start();
  for (let run = 0; run < RUNS; run++) {
    const doomed = await next;
    if (run < RUNS - 1) next = start();
    const all = await lease(120);
    const answers = all.map((one) => settle(doomed, one));
    // A replica carries out only some of them at once: when the first is answered, others have not begun.
    await Promise.race(answers);
    await sleep(Math.random() * 20);
    await doomed.end('SIGKILL');
    const answered = await Promise.all(answers);
    // The server may still run statements of the killed replica.
    await until(async () => {
      const busy = await onAll(
        database.url,
        `select from pg_stat_activity where application_name = 'dibs' and datname = current_database()
         and state <> 'idle' and query ilike '%dibs.jobs%'`,
      );
      return busy.length === 0;
    });
    shares.push((await check(all, answered)) / all.length);
    // Repeated on another replica, each of them counts, unless it has counted before.
    const again = await Promise.all(all.map(settled));
    for (const status of again) expect([200, 404, 409]).toContain(status);
    expect(await check(all, again)).toBe(all.length);
  }
  // Some replicas must have been killed in the middle.
  expect(shares.some((share) => share > 0 && share < 1)).toBe(true);
});

test('while connections to the database are cut, a settlement that is repeated until it is answered has one follow-up', {
  timeout: TEN_MINUTES,
}, async () => {
  const all = await lease(150);
  const left = [...all.entries()];
  const answers: number[] = [];
  const workers = Promise.all(
    Array.from({ length: 12 }, async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [i, one] = next;
        answers[i] = await settled(one);
        expect([200, 404, 409]).toContain(answers[i]);
      }
    }),
  );
  await cutWhile(database.url, workers);
  expect(await check(all, answers)).toBe(all.length);
});
