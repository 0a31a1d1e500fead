import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { type Lease, recordHistory, type SettleVerb } from '../support/history.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

const QUEUE = 'keyed';
const KEYS = ['a', 'b', 'c'];
const RACE_MS = 6000;

/** A lease, from when a worker certainly had it until a call that may have ended it was sent. */
interface Held {
  id: string;
  from: number;
  until: number;
}
/** A request that was answered with a job that was there. */
interface Duplicate {
  id: string;
  sent: number;
  answered: number;
}

const random = (most: number) => Math.random() * most;
const oneOf = <T>(values: T[]) => values[Math.floor(random(values.length))] as T;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Service[];
const history = recordHistory();
const held: Held[] = [];
const duplicates: Duplicate[] = [];
let created = 0;
let stopping = false;

beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(() => startService({ databaseUrl: database.url })));
  const body = { backoff: { kind: 'constant', base_seconds: 0.05 } };
  await oneOf(replicas).call('PUT', `/queues/${QUEUE}`, body);
});
afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await database.drop();
});

async function produce(): Promise<void> {
  while (!stopping) {
    const job = {
      queue: QUEUE,
      unique_key: oneOf(KEYS),
      unique_until: 'claimed',
      max_attempts: 1000,
      ...oneOf([{}, {}, { on_duplicate: 'replace' }, { delay_seconds: 0.02 }]),
    };
    const sent = Date.now();
    const { status, body, text } = await oneOf(replicas).call('POST', '/jobs', job);
    expect([200, 201], text).toContain(status);
    if (status === 201) {
      created++;
      history.enqueued(body.id);
    } else duplicates.push({ id: body.id, sent, answered: Date.now() });
    await sleep(random(30));
  }
}

async function claim(wait_seconds: number): Promise<Lease[]> {
  const wish = { queues: [QUEUE], limit: oneOf([1, 3]), wait_seconds, lease_seconds: 600 };
  const { body } = await oneOf(replicas).call('POST', '/jobs/claim', wish);
  return body.jobs.map((job: Claimed) => history.leased(job, 600, Date.now()));
}

async function work(verb: SettleVerb, lease: Lease): Promise<void> {
  const one = { id: lease.job, from: Date.now(), until: Number.POSITIVE_INFINITY };
  held.push(one);
  await sleep(random(30));
  const sent = Date.now();
  one.until = sent;
  const path = `/jobs/${lease.job}/${verb}`;
  const { status, text } = await oneOf(replicas).call('POST', path, { lease_token: lease.token });
  expect(status, text).toBe(200);
  history.settled(lease, verb, sent, 'done');
}

async function worker(): Promise<void> {
  while (!stopping)
    await Promise.all((await claim(0.2)).map((job) => work(oneOf(['ack', 'nack', 'release'] as const), job)));
}

test('a claim frees the key for all replicas, and no job of it is lost, while jobs come, fail and come back', async () => {
  const everybody = Promise.all([
    ...Array.from({ length: 3 }, produce),
    ...Array.from({ length: 6 }, worker),
  ]);
  await Promise.race([sleep(RACE_MS), everybody]);
  stopping = true;
  await everybody;
  const left = () => onAll(database.url, 'select id from dibs.jobs');
  for (let i = 0; i < 600 && (await left()).length > 0; i++)
    await Promise.all((await claim(0.2)).map((job) => work('ack', job)));
  expect(await left()).toEqual([]);
  expect(history.violations(new Set())).toEqual([]);
  // A worker had the job all the time: a new one should have been made.
  const leased = duplicates.filter(({ id, sent, answered }) =>
    held.some((one) => one.id === id && one.from < sent && one.until > answered),
  );
  expect(leased).toEqual([]);
  expect(created).toBeGreaterThan(20);
  expect(duplicates.length).toBeGreaterThan(10);
  for (const { errors } of replicas) expect(errors).toEqual([]);
});
