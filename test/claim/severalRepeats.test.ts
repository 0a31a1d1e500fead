import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markOf } from '../../src/claim/claimRows.ts';
import type { LeasedJob } from '../../src/verbs/claims.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { until } from '../support/until.ts';
import { openReplica, type Placed, type SeveralReplica } from './support/several.ts';

const DATABASES = 3;
const ROUNDS = 60;
const LIMIT = 5;

let databases: Awaited<ReturnType<typeof createDatabase>>[];
let clients: pg.Client[];
let placed: Placed;
let replicas: SeveralReplica[];
beforeAll(async () => {
  databases = await Promise.all(Array.from({ length: DATABASES }, createDatabase));
  placed = new Map();
  const urls = databases.map(({ url }) => url);
  clients = await Promise.all(urls.map(openClient));
  replicas = await Promise.all([1, 2, 3].map(() => openReplica(urls, placed)));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  await Promise.all(clients.map((client) => client.end()));
  await Promise.all(databases.map((database) => database.drop()));
});

const random = (most: number) => Math.random() * most;
const oneOf = <T>(values: T[]) => values[Math.floor(random(values.length))] as T;
const shuffled = <T>(values: T[]) => values.toSorted(() => random(2) - 1);
const tokensOf = (jobs: LeasedJob[]) => jobs.map((job) => job.lease_token).sort();

let names = 0;
function newQueue(number: number): string {
  const name = `r${names++}`;
  placed.set(name, number);
  return name;
}

async function everywhere<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
  const found = await Promise.all(clients.map((client) => client.query<Row>(text, values)));
  return found.flatMap(({ rows }) => rows);
}

const leasedIn = async (queues: string[]): Promise<string[]> =>
  (
    await everywhere<{ lease_token: string }>(
      `select lease_token from dibs.jobs
       where queue_id in (select id from dibs.queues where name = any ($1)) and state = 'leased'`,
      [queues],
    )
  )
    .map((row) => row.lease_token)
    .sort();

const requestFor = (queues: string[], claim_id: string) => ({
  queues,
  claim_id,
  limit: LIMIT,
  lease_seconds: 600,
  wait_seconds: 3,
});

/** Sends a claim from several clients, at about the same time. Some hang up, some before they have an answer. */
async function round(number: number, hangsUp: () => boolean) {
  const numbers = shuffled([0, 1, 2]).slice(0, 2 + (number % 2));
  const queues = numbers.map(newQueue);
  const late = number % 5 === 4;
  // Some rounds have fewer jobs in a queue than the limit. So a claim leases in several databases.
  const enqueue = async () => {
    for (const queue of shuffled(queues)) await oneOf(replicas).enqueue(queue, 2 + (number % 4));
  };
  if (!late) await enqueue();
  const spread = oneOf([0, 0, 5, 40]);
  const requests = Array.from({ length: 1 + (number % 6) }, async () => {
    await sleep(random(spread));
    // The order of the names makes no other claim of it.
    const { jobs, hangUp } = oneOf(replicas).claim(requestFor(shuffled(queues), `round ${number}`));
    if (!hangsUp()) return { hangsUp: false, jobs: await jobs };
    await sleep(random(40));
    hangUp();
    await jobs;
    return { hangsUp: true, jobs: [] };
  });
  if (late) await sleep(random(60)).then(enqueue);
  return { queues, requests: await Promise.all(requests) };
}

async function check(number: number, { queues, requests }: Awaited<ReturnType<typeof round>>) {
  const staying = requests.filter((request) => !request.hangsUp).map((request) => request.jobs);
  const answered = staying.filter((jobs) => jobs.length > 0);
  const name = `round ${number}: ${requests.map((r) => (r.hangsUp ? 'gone' : r.jobs.length)).join()}`;
  const [set = []] = answered;
  expect(set.length, name).toBeLessThanOrEqual(LIMIT);
  for (const jobs of answered) expect(tokensOf(jobs), name).toEqual(tokensOf(set));
  // There are always jobs: only a request that a newer one replaced is answered with none.
  if (staying.length > 0 && staying.length === requests.length)
    expect(answered.length, name).toBeGreaterThan(0);
  await until(async () => (await leasedIn(queues)).join() === tokensOf(set).join(), {
    what: `${name}: one set of leases, and none for nobody`,
    withinMs: 20_000,
  });
  return { staying, answered, set };
}

test('repeats of a claim over several databases, on several replicas at once, are answered one set of leases', async () => {
  let spread = 0;
  for (let number = 0; number < ROUNDS; number++) {
    const done = await round(number, () => false);
    const { set } = await check(number, done);
    if (new Set(set.map(({ queue }) => placed.get(queue))).size > 1) spread++;
    const again = await oneOf(replicas).claim(requestFor(shuffled(done.queues), `round ${number}`)).jobs;
    expect(tokensOf(again), `round ${number}, again`).toEqual(tokensOf(set));
  }
  expect(spread).toBeGreaterThan(ROUNDS / 10);
}, 300_000);

test('and whoever hangs up, what is leased is what some request was answered with', async () => {
  const kinds = { given: 0, shared: 0, replaced: 0, back: 0 };
  // On a slow machine, some kinds are rare.
  const isRare = () => Object.values(kinds).some((times) => times === 0);
  for (let number = 0; number < ROUNDS || (isRare() && number < 5 * ROUNDS); number++) {
    const { answered, staying } = await check(
      number + ROUNDS,
      await round(number + ROUNDS, () => Math.random() < 0.6),
    );
    if (answered.length > 0) kinds.given++;
    if (answered.length > 1) kinds.shared++;
    if (answered.length > 0 && answered.length < staying.length) kinds.replaced++;
    if (answered.length === 0) kinds.back++;
  }
  for (const [kind, times] of Object.entries(kinds)) expect(times, kind).toBeGreaterThan(0);
}, 300_000);

test('leases are answered in the order of the names that the repeat gives', async () => {
  const [a, b] = [newQueue(0), newQueue(1)];
  const [replica, other] = replicas as [SeveralReplica, SeveralReplica];
  for (const queue of [a, b]) await replica.enqueue(queue, 2);
  const jobs = await replica.claim(requestFor([a, b], 'order')).jobs;
  expect(jobs.map(({ queue }) => queue)).toEqual([a, a, b, b]);
  const again = await other.claim(requestFor([b, a], 'order')).jobs;
  expect(again.map(({ queue }) => queue)).toEqual([b, b, a, a]);
  expect(tokensOf(again)).toEqual(tokensOf(jobs));
});

test('leases of one database are answered when the rows of the others were pruned long ago', async () => {
  const queues = [newQueue(0), newQueue(1), newQueue(2)];
  const [replica, other] = replicas as [SeveralReplica, SeveralReplica];
  await replica.enqueue(queues[2] as string, 9);
  const jobs = await replica.claim(requestFor(queues, 'pruned')).jobs;
  expect(jobs).toHaveLength(LIMIT);
  const mark = markOf('pruned', queues);
  for (const { url } of databases.slice(0, 2))
    await onServer(url, 'delete from dibs.repeatable_claims where mark = $1', [mark]);
  await replica.enqueue(queues[0] as string, 9);
  expect(tokensOf(await other.claim(requestFor(queues, 'pruned')).jobs)).toEqual(tokensOf(jobs));
  for (const job of jobs) await replica.ack(job);
  expect(await other.claim(requestFor(queues, 'pruned')).jobs).toHaveLength(LIMIT);
});

test('requests that wait for queues that come into being in different databases lease in one of them only', async () => {
  for (let number = 0; number < 40; number++) {
    const queues = [`n${names++}`, `n${names++}`];
    const requests = shuffled(replicas)
      .slice(0, 2)
      .map(async (replica) => {
        await sleep(random(30));
        return replica.claim({ ...requestFor(queues, `new ${number}`), limit: 1 }).jobs;
      });
    await sleep(random(40));
    await Promise.all(
      queues.map(async (queue, i) => {
        placed.set(queue, (number + i) % DATABASES);
        await oneOf(replicas).enqueue(queue, 2);
      }),
    );
    const answered = (await Promise.all(requests)).filter((jobs) => jobs.length > 0);
    const [set = []] = answered;
    expect(set).toHaveLength(1);
    for (const jobs of answered) expect(tokensOf(jobs)).toEqual(tokensOf(set));
    await until(async () => (await leasedIn(queues)).join() === tokensOf(set).join(), {
      what: 'one set of leases',
      withinMs: 20_000,
    });
  }
}, 120_000);
