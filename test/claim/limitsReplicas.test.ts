import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, client } from '../support/client.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { type Lease, type Outcome, recordHistory } from '../support/history.ts';
import { mostAtOnce, mostInWindow } from '../support/limits.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { databaseOf } from '../support/severalDatabases.ts';
import { enough } from '../support/until.ts';

const WORKERS = 18;
const CHAOS_MS = 6000;
const KILL_MS = 2000;
const MAX_LEASED = 4;
const RATE = { jobs: 15, per_seconds: 0.4 };

const random = (least: number, most: number) => least + Math.random() * (most - least);
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(() => startReplica({ DATABASE_URL: database.url })));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

const at = (i: number) => client((replicas[i] as Replica).url);

async function fill(queue: string, jobs: number): Promise<void> {
  const batch = Array.from({ length: Math.min(jobs, 1000) }, () => ({ queue, max_attempts: 1000 }));
  for (let left = jobs; left > 0; left -= batch.length)
    await at(0).ok('POST', '/jobs/batch', { jobs: batch });
}

/** Works on one queue, through any replica. Some of its leases run out, and some connections break. */
async function work(queue: string, history: ReturnType<typeof recordHistory>, stopping: () => boolean) {
  const send = async (path: string, body: object, signal?: AbortSignal) => {
    const answer = await http(oneOf(replicas).url, 'POST', path, body, { signal }).catch(() => undefined);
    if (answer && answer.status >= 500 && answer.status !== 503)
      throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer?.status === 503 ? undefined : answer;
  };
  const settle = async (lease: Lease, verb: 'ack' | 'nack' | 'release') => {
    const sent = Date.now();
    const more = verb === 'ack' ? {} : { delay_seconds: oneOf([0, 0.2]) };
    const answer = await send(`/jobs/${lease.job}/${verb}`, { lease_token: lease.token, ...more });
    const outcome: Outcome = !answer ? 'unknown' : answer.status === 200 ? 'done' : 'refused';
    history.settled(lease, verb, sent, outcome);
  };
  while (!stopping()) {
    const lease_seconds = oneOf([0.3, 1, 5]);
    const hangUp = Math.random() < 0.1 ? AbortSignal.timeout(Math.round(random(5, 300))) : undefined;
    const wish = { queues: [queue], limit: oneOf([1, 2, 5]), wait_seconds: oneOf([0, 1]), lease_seconds };
    const answer = await send('/jobs/claim', wish, hangUp);
    const leases = (answer?.body.jobs ?? []).map((job: Claimed) => history.leased(job, lease_seconds));
    for (const lease of leases) {
      await sleep(random(0, 40));
      // As if the worker was killed: the lease runs out.
      if (lease_seconds < 5 && Math.random() < 0.2) continue;
      await settle(lease, oneOf(['ack', 'ack', 'ack', 'nack', 'release']));
    }
  }
}

/** Looks again and again how many jobs of a queue are leased, and returns the largest number. */
async function watch(queue: string, stopping: () => boolean): Promise<number> {
  const observer = await openClient(await databaseOf(database.url, queue));
  let most = 0;
  while (!stopping()) {
    const { rows } = await observer.query(
      `select count(*)::integer as leased from dibs.jobs
       where queue_id = (select id from dibs.queues where name = $1) and state = 'leased'`,
      [queue],
    );
    most = Math.max(most, rows[0].leased);
  }
  await observer.end();
  return most;
}

test('over replicas and crashes, never more jobs are leased than max_leased, nor claimed in a window than the rate limit', async () => {
  const capped = recordHistory();
  const rated = recordHistory();
  await at(1).ok('PUT', '/queues/capped', { max_leased: MAX_LEASED });
  await at(2).ok('PUT', '/queues/rated', { rate_limit: RATE });
  await fill('capped', 4000);
  await fill('rated', 2000);
  let stopped = false;
  const stopping = () => stopped;
  const workers = Array.from({ length: WORKERS }, (_, i) =>
    i % 2 ? work('capped', capped, stopping) : work('rated', rated, stopping),
  );
  const watched = watch('capped', stopping);
  await sleep(KILL_MS);
  const killed = replicas.pop() as Replica;
  await killed.end('SIGKILL');
  replicas.push(await startReplica({ DATABASE_URL: database.url }));
  const isFight = () =>
    capped.leases().length > 100 && mostInWindow(rated.leases(), RATE.per_seconds) > RATE.jobs / 2;
  await enough(CHAOS_MS - KILL_MS, isFight);
  stopped = true;
  await Promise.all(workers);
  expect(await watched).toBe(MAX_LEASED);
  expect(mostAtOnce(capped.leases())).toBeLessThanOrEqual(MAX_LEASED);
  expect(mostInWindow(rated.leases(), RATE.per_seconds)).toBeLessThanOrEqual(RATE.jobs);
  expect(isFight()).toBe(true);
});

/** If claims were not woken, but looked once a second, this number of leases would take longer than the test may. */
const LEASES = 40;
const WITHIN_MS = 30_000;

test(
  'a claim that waits is woken when a lease ends on another replica',
  async () => {
    await at(0).ok('PUT', '/queues/relay', { max_leased: 1 });
    await fill('relay', LEASES);
    for (let i = 0, held = await at(0).claim('relay'); i < LEASES - 1; i++) {
      const waiting = at((i + 1) % 3).claim('relay', { wait_seconds: 20 });
      await sleep(50);
      await at(i % 3).settle('ack', held[0] as Claimed);
      held = await waiting;
      expect(held).toHaveLength(1);
    }
  },
  WITHIN_MS,
);

test(
  'a claim that waits is woken when the rate limit allows another job',
  async () => {
    await at(0).ok('PUT', '/queues/metronome', { rate_limit: { jobs: 1, per_seconds: 0.1 } });
    await fill('metronome', LEASES);
    for (let i = 0; i < LEASES; i++)
      expect(await at(i % 3).claim('metronome', { wait_seconds: 20 })).toHaveLength(1);
  },
  WITHIN_MS,
);

test('max_ready holds to within the requests in flight', async () => {
  const inFlight = 8;
  await at(0).ok('PUT', '/queues/filling', { max_ready: 300 });
  // By then every replica knows the limit.
  await sleep(1000);
  let most = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async (_, i) => {
      let refused = 0;
      while (refused < 20) {
        const answer = await http((replicas[i % 3] as Replica).url, 'POST', '/jobs', { queue: 'filling' });
        expect([201, 429]).toContain(answer.status);
        if (answer.status === 429) refused++;
      }
      most = Math.max(most, (await at(i % 3).counts('filling')).ready as number);
    }),
  );
  expect(most).toBeGreaterThanOrEqual(300);
  expect(most).toBeLessThan(300 + inFlight);
});
