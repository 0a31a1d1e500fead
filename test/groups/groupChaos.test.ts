import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { recordGroups } from '../support/groupHistory.ts';
import { type Lease, type Outcome, recordHistory, type SettleVerb } from '../support/history.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';
import { enough } from '../support/until.ts';

const WORKERS = 14;
const CHAOS_MS = 10_000;
const KILL_MS = 4000;
/** The last one is purged now and then. */
const QUEUES = ['red', 'blue', 'purged'];
const GROUPS = 4;

const random = (least: number, most: number) => least + Math.random() * (most - least);
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
const history = recordHistory();
const groups = recordGroups();
const known: string[] = [];
let stopping = false;
let killed: Replica | undefined;

beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(() => startReplica({ DATABASE_URL: database.url })));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

/** A call to any living replica. Undefined when no answer came. */
async function call(method: string, path: string, body?: object) {
  const { url } = oneOf(replicas.filter((replica) => replica !== killed));
  const answer = await http(url, method, path, body).catch(() => undefined);
  if (answer && answer.status >= 500) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return answer;
}

const outcomeOf = (answer: { status: number } | undefined): Outcome =>
  answer === undefined ? 'unknown' : answer.status < 300 ? 'done' : 'refused';

async function produce(): Promise<void> {
  while (!stopping) {
    const jobs = Array.from({ length: Math.ceil(random(0, 6)) }, () => ({
      queue: oneOf(QUEUES),
      priority: Math.round(random(-2, 2)),
      delay_seconds: oneOf([0, 0, 0, 0.3]),
      max_attempts: oneOf([1, 2, 1000, 1000]),
      backoff: { base_seconds: 0.1, max_seconds: 0.3 },
      ...(Math.random() < 0.9 ? { group: `g${Math.floor(random(0, GROUPS))}` } : {}),
    }));
    const sent = Date.now();
    const answer = await call('POST', '/jobs/batch', { jobs });
    const answered = Date.now();
    for (const job of answer?.body.jobs ?? []) {
      known.push(job.id);
      history.enqueued(job.id);
      if (job.queue === 'purged') history.cancelled(job.id);
      groups.enqueued(job, sent, answered);
    }
    await sleep(random(20, 150));
  }
}

async function settle(lease: Lease, verb: SettleVerb): Promise<void> {
  const sent = Date.now();
  const more = verb === 'ack' ? {} : verb === 'release' ? { delay_seconds: oneOf([0, 0, 0.1]) } : nack(lease);
  const answer = await call('POST', `/jobs/${lease.job}/${verb}`, { lease_token: lease.token, ...more });
  history.settled(lease, verb, sent, outcomeOf(answer));
}

function nack(lease: Lease): object {
  if (Math.random() < 0.6) return {};
  groups.mayDie(lease.job);
  return { retry: false };
}

/** Works on a job as real workers do: well, too slowly, not at all, or in vain. */
async function work(lease: Lease): Promise<void> {
  const fate = Math.random();
  if (fate < 0.06) return;
  await sleep(random(0, 20));
  // Some of these are later than the lease.
  if (fate < 0.16) await sleep(random(100, 500));
  await settle(lease, fate < 0.7 ? 'ack' : fate < 0.85 ? 'nack' : 'release');
}

async function claim(wish: object, leaseSeconds: number): Promise<Lease[]> {
  const answer = await call('POST', '/jobs/claim', { lease_seconds: leaseSeconds, ...wish });
  if (!answer) groups.lostClaim();
  const jobs: (Claimed & { group: string | null; max_attempts: number })[] = answer?.body.jobs ?? [];
  const mine = jobs.filter((job) => job.group !== null).map((job) => `${job.queue} ${job.group}`);
  expect(new Set(mine).size, 'jobs of one group are never together in one claim').toBe(mine.length);
  return jobs.map((job) => {
    const lease = history.leased(job, leaseSeconds);
    groups.leased(job, lease);
    return lease;
  });
}

async function worker(): Promise<void> {
  while (!stopping) {
    const queues = QUEUES.toSorted(() => Math.random() - 0.5).slice(0, Math.ceil(random(0, 3)));
    const wish = { queues, limit: oneOf([1, 1, 2, 10]), wait_seconds: random(0, 0.5) };
    const leases = await claim(wish, oneOf([0.1, 0.3, 1]));
    await Promise.all(leases.map(work));
  }
}

/** Cancels, retries, purges and redrives at random. */
async function operate(): Promise<void> {
  while (!stopping) {
    const job = oneOf(known.slice(-40));
    const queue = oneOf(QUEUES);
    const verb = oneOf(['cancel', 'cancel', 'retry', 'purge', 'redrive']);
    if (verb === 'cancel' && job) {
      history.cancelled(job);
      await call('DELETE', `/jobs/${job}`);
    } else if (verb === 'retry' && job) {
      groups.retried(job);
      await call('POST', `/jobs/${job}/retry`);
    } else if (verb === 'purge') {
      const states = oneOf([
        ['ready'],
        ['scheduled'],
        ['blocked'],
        ['ready', 'blocked', 'scheduled'],
        ['dead'],
      ]);
      await call('POST', '/queues/purged/purge', { states });
    } else {
      await call('POST', `/queues/${queue}/redrive`, { limit: 5 });
    }
    await sleep(random(20, 100));
  }
}

const WAITING = `select state, is_head, group_key from dibs.jobs where state <> 'dead' order by group_key, position`;

/** Acks jobs until only dead jobs remain, for up to 60 s. Returns the jobs that are stuck. */
async function drain(): Promise<unknown[]> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const waiting = await onAll(database.url, WAITING);
    if (waiting.length === 0 || Date.now() > deadline) return waiting;
    const leases = await claim({ queues: QUEUES, limit: 100, wait_seconds: 0.2 }, 30);
    await Promise.all(leases.map((lease) => settle(lease, 'ack')));
  }
}

function isFight(): boolean {
  const leases = history.leases();
  const outcomes = (verb: SettleVerb, outcome: Outcome) =>
    leases.filter((lease) => lease.settled?.verb === verb && lease.settled.outcome === outcome).length;
  return (
    groups.leases() > 100 &&
    outcomes('ack', 'done') > 50 &&
    outcomes('nack', 'done') > 10 &&
    outcomes('release', 'done') > 10 &&
    leases.filter((lease) => lease.deliveries > 1).length > 20
  );
}

test('no group ever gets stuck, and its jobs run in order, one at a time, whatever happens to them', async () => {
  const everybody = Promise.all([
    ...Array.from({ length: 3 }, produce),
    ...Array.from({ length: WORKERS }, worker),
    operate(),
  ]);
  await Promise.race([sleep(KILL_MS), everybody]);
  killed = replicas[0];
  await killed?.end('SIGKILL');
  await Promise.race([enough(CHAOS_MS - KILL_MS, isFight), everybody]);
  stopping = true;
  await everybody;
  expect(await drain()).toEqual([]);

  const rows = await onAll<{ id: string }>(database.url, 'select id from dibs.jobs');
  expect(groups.violations()).toEqual([]);
  expect(history.violations(new Set(rows.map((row) => row.id)))).toEqual([]);

  expect(isFight()).toBe(true);
});
