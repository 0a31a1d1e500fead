import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { type Lease, type Outcome, recordHistory, type SettleVerb } from '../support/history.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';
import { enough } from '../support/until.ts';

const WORKERS = 16;
const CHAOS_MS = 12_000;
const KILL_MS = 5000;
const QUEUES = ['red', 'green', 'blue'];

const random = (least: number, most: number) => least + Math.random() * (most - least);
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
const history = recordHistory();
let stopping = false;
let killed: Replica | undefined;

beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2].map(() => startReplica({ DATABASE_URL: database.url })));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

/** A call to any living replica. Undefined when nobody knows what became of it: no answer came, or 503 on a slow machine. */
async function call(path: string, body: object, signal?: AbortSignal) {
  const { url } = oneOf(replicas.filter((replica) => replica !== killed));
  const answer = await http(url, 'POST', path, body, { signal }).catch(() => undefined);
  if (answer?.status === 503) return undefined;
  if (answer && answer.status >= 500) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return answer;
}

const outcomeOf = (answer: { status: number } | undefined): Outcome =>
  answer === undefined ? 'unknown' : answer.status === 200 ? 'done' : 'refused';

async function produce(): Promise<void> {
  while (!stopping) {
    const jobs = Array.from({ length: Math.ceil(random(0, 8)) }, () => ({
      queue: oneOf(QUEUES),
      priority: Math.round(random(-2, 2)),
      delay_seconds: oneOf([0, 0, 0.3]),
      max_attempts: oneOf([2, 1000]),
      backoff: { base_seconds: 0.2, max_seconds: 0.5 },
    }));
    const answer = await call('/jobs/batch', { jobs });
    for (const job of answer?.body.jobs ?? []) history.enqueued(job.id);
    await sleep(random(0, 60));
  }
}

async function settle(lease: Lease, verb: SettleVerb): Promise<void> {
  const sent = Date.now();
  const more = verb === 'ack' ? {} : { delay_seconds: oneOf([0, 0, 0.2]) };
  const answer = await call(`/jobs/${lease.job}/${verb}`, { lease_token: lease.token, ...more });
  history.settled(lease, verb, sent, outcomeOf(answer));
}

async function extend(lease: Lease): Promise<void> {
  const sent = Date.now();
  const answer = await call(`/jobs/${lease.job}/extend`, {
    lease_token: lease.token,
    lease_seconds: random(0.1, 1),
  });
  history.extended(lease, sent, outcomeOf(answer), answer?.body.lease_expires_at);
}

/** Works on a job as real workers do: well, too slowly, not at all, or twice. */
async function work(lease: Lease): Promise<void> {
  const fate = Math.random();
  if (fate < 0.1) return;
  await sleep(random(0, 80));
  if (fate < 0.3) await extend(lease);
  // Some of these are later than the lease.
  if (fate < 0.45) await sleep(random(100, 900));
  await settle(lease, fate < 0.7 ? 'ack' : fate < 0.85 ? 'nack' : 'release');
}

async function worker(): Promise<void> {
  while (!stopping) {
    const leaseSeconds = oneOf([0.1, 0.3, 1]);
    const signal = Math.random() < 0.1 ? AbortSignal.timeout(Math.round(random(1, 100))) : undefined;
    const claim = {
      queues: QUEUES.toSorted(() => Math.random() - 0.5).slice(0, Math.ceil(random(0, 3))),
      limit: oneOf([1, 1, 2, 10]),
      lease_seconds: leaseSeconds,
      wait_seconds: random(0, 0.5),
    };
    const answer = await call('/jobs/claim', claim, signal);
    const leases = (answer?.body.jobs ?? []).map((job: Claimed) => history.leased(job, leaseSeconds));
    await Promise.all(leases.map(work));
    await sleep(random(0, 20));
  }
}

/** Acks jobs until only dead jobs remain. */
async function drain(): Promise<void> {
  const waits = `select from dibs.jobs where state <> 'dead' limit 1`;
  while ((await onAll(database.url, waits)).length > 0) {
    const answer = await call('/jobs/claim', {
      queues: QUEUES,
      limit: 100,
      lease_seconds: 30,
      wait_seconds: 0.2,
    });
    for (const job of answer?.body.jobs ?? []) await settle(history.leased(job, 30), 'ack');
  }
}

/** Leases ran out, were settled too late, and jobs were leased again. */
function isFight(): boolean {
  const leases = history.leases();
  const outcomes = (verb: SettleVerb, outcome: Outcome) =>
    leases.filter((lease) => lease.settled?.verb === verb && lease.settled.outcome === outcome).length;
  return (
    outcomes('ack', 'done') > 50 &&
    outcomes('nack', 'done') > 5 &&
    outcomes('release', 'done') > 5 &&
    outcomes('ack', 'refused') + outcomes('nack', 'refused') > 0 &&
    leases.filter((lease) => lease.deliveries > 1).length > 20
  );
}

test('16 workers that compete, hang up, come too late and lose a replica never hold the same job at once', async () => {
  const everybody = Promise.all([
    ...Array.from({ length: 2 }, produce),
    ...Array.from({ length: WORKERS }, worker),
  ]);
  await Promise.race([sleep(KILL_MS), everybody]);
  killed = replicas[0];
  await killed?.end('SIGKILL');
  await Promise.race([enough(CHAOS_MS - KILL_MS, isFight), everybody]);
  stopping = true;
  await everybody;
  await drain();

  const rows = await onAll<{ id: string }>(database.url, 'select id from dibs.jobs');
  expect(history.violations(new Set(rows.map((row) => row.id)))).toEqual([]);

  expect(isFight()).toBe(true);
  expect(rows.length).toBeGreaterThan(0);
});
