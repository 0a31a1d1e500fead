import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { recordHistory } from '../support/history.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';
import { enough, until } from '../support/until.ts';

const CHAOS_MS = 8000;
const WORKERS = 12;
const QUEUES = ['red', 'green'];
/** Far longer than this test: a lost lease is still there in the end. */
const LEASE_SECONDS = 300;

const random = (least: number, most: number) => least + Math.random() * (most - least);
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2].map(() => startReplica({ DATABASE_URL: database.url })));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

test('however replies get lost, a repeat of a claim gets all of its leases, and no two workers have the same job', async () => {
  const history = recordHistory();
  const fates = { aborted: 0, lost: 0, replaced: 0, again: 0, elsewhere: 0 };
  const missing: string[] = [];
  let stopping = false;

  /** Repeats a request that is answered 503, as on a machine that is too busy. */
  async function post(replica: Replica, path: string, body: object, signal?: AbortSignal) {
    for (let isRepeat = false; ; isRepeat = true) {
      const answer = await http(replica.url, 'POST', path, body, { signal });
      if (answer.status !== 503) return { ...answer, isRepeat };
    }
  }

  async function claim(replica: Replica, body: object, signal?: AbortSignal): Promise<Claimed[]> {
    const answer = await post(replica, '/jobs/claim', body, signal);
    if (answer.status !== 200) throw new Error(`a claim answered ${answer.status}: ${answer.text}`);
    return answer.body.jobs;
  }

  function mustHave(jobs: Claimed[], lost: Claimed[], how: string): void {
    for (const one of lost) {
      fates.again++;
      if (!jobs.some((job) => job.lease_token === one.lease_token)) missing.push(`${one.id}, ${how}`);
    }
  }

  /** Sends a claim, whose replies get lost, until one comes through. */
  async function claimUntilAnswered(): Promise<Claimed[]> {
    const body = {
      claim_id: randomUUID(),
      queues: QUEUES.toSorted(() => Math.random() - 0.5).slice(0, oneOf([1, 2])),
      limit: oneOf([1, 1, 3, 10]),
      lease_seconds: LEASE_SECONDS,
      wait_seconds: random(0, 1),
    };
    let replica = oneOf(replicas);
    for (;;) {
      const fate = Math.random();
      if (fate < 0.25) {
        fates.aborted++;
        const signal = AbortSignal.timeout(Math.round(random(1, 700)));
        await claim(replica, body, signal).catch(() => undefined);
        const other = oneOf(replicas);
        if (other !== replica) fates.elsewhere++;
        replica = other;
      } else if (fate < 0.5) {
        fates.lost++;
        const lost = await claim(replica, body);
        const jobs = await claim(oneOf(replicas), body);
        mustHave(jobs, lost, 'of an answer that was lost');
        if (lost.length > 0) return jobs;
      } else if (fate < 0.75) {
        fates.replaced++;
        const first = claim(replica, body);
        await sleep(random(0, 700));
        const jobs = await claim(oneOf(replicas), body);
        const earlier = await first;
        // The two may arrive in the other order. Then the earlier one replaces this one, and is answered the jobs.
        if (jobs.length === 0) return earlier;
        mustHave(jobs, earlier, 'of a request that was replaced');
        return jobs;
      } else return claim(replica, body);
    }
  }

  async function work(): Promise<void> {
    while (!stopping) {
      const jobs = await claimUntilAnswered();
      const leases = jobs.map((job) => history.leased(job, LEASE_SECONDS));
      for (const lease of leases) {
        const verb = oneOf(['ack', 'ack', 'release'] as const);
        const sent = Date.now();
        const path = `/jobs/${lease.job}/${verb}`;
        const { status, isRepeat } = await post(oneOf(replicas), path, { lease_token: lease.token });
        // The first one may have counted.
        history.settled(lease, verb, sent, status === 200 ? 'done' : isRepeat ? 'unknown' : 'refused');
      }
    }
  }

  async function produce(): Promise<void> {
    while (!stopping) {
      const jobs = Array.from({ length: Math.ceil(random(0, 4)) }, () => ({ queue: oneOf(QUEUES) }));
      const answer = await post(oneOf(replicas), '/jobs/batch', { jobs });
      for (const job of answer.body.jobs) history.enqueued(job.id);
      await sleep(random(0, 250));
    }
  }

  const everybody = Promise.all([produce(), ...Array.from({ length: WORKERS }, work)]);
  // It must be a storm.
  const isStorm = () => Object.values(fates).every((times) => times > 5);
  await Promise.race([enough(CHAOS_MS, isStorm), everybody]);
  stopping = true;
  await everybody;

  const leased = () => onAll<{ id: string }>(database.url, `select id from dibs.jobs where state = 'leased'`);
  // The leases of consumers that hung up are given back by now or in a moment.
  await until(async () => (await leased()).length === 0, {
    withinMs: 30_000,
    what: 'the end of all leases',
  }).catch(async () => expect(await leased(), 'lost leases').toEqual([]));
  expect(missing).toEqual([]);
  expect(history.leases().filter((lease) => lease.settled?.outcome === 'refused')).toEqual([]);
  const rows = await onAll<{ id: string }>(database.url, 'select id from dibs.jobs');
  expect(history.violations(new Set(rows.map((row) => row.id)))).toEqual([]);
  expect(isStorm(), JSON.stringify(fates)).toBe(true);
});
