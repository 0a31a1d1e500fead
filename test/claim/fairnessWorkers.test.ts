import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { type Lease, recordHistory, type SettleVerb } from '../support/history.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

const WORKERS = 9;
const MOST = 3;
const KEYS = ['ada', 'bob', 'cyd', 'dan', 'eve'];

let services: Service[];
beforeAll(async () => {
  const first = await startService();
  const others = [1, 2].map(() => startService({ databaseUrl: first.databaseUrl }));
  services = [first, ...(await Promise.all(others))];
});
afterAll(async () => {
  for (const service of services.toReversed()) await service.stop();
});

const random = (least: number, most: number) => least + Math.random() * (most - least);
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

async function call(path: string, body: object) {
  const answer = await oneOf(services).call('POST', path, body);
  if (answer.status >= 500) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return answer;
}

const claim = async (queue: string, more: object): Promise<(Claimed & { fairness_key: string | null })[]> =>
  (await call('/jobs/claim', { queues: [queue], ...more })).body.jobs;

test('workers on three replicas serve keys with equally many jobs evenly at every moment', async () => {
  const each = 120;
  for (const fairness_key of KEYS)
    await call('/jobs/batch', { jobs: Array(each).fill({ queue: 'even', fairness_key }) });
  const served = new Map(KEYS.map((key) => [key, 0]));
  let widest = 0;
  const worker = async () => {
    for (;;) {
      const jobs = await claim('even', { limit: Math.ceil(random(0, MOST)), lease_seconds: 600 });
      if (jobs.length === 0) return;
      for (const { fairness_key: key } of jobs)
        served.set(key as string, (served.get(key as string) ?? 0) + 1);
      const counts = [...served.values()];
      if (!counts.includes(each)) widest = Math.max(widest, Math.max(...counts) - Math.min(...counts));
      await sleep(random(0, 3));
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  expect([...served.values()]).toEqual(KEYS.map(() => each));
  // On one replica, keys differ by at most one job. The answers of claims that run at once come in any order.
  expect(widest).toBeLessThanOrEqual(services.length + WORKERS * MOST);
});

const history = recordHistory();

async function produce(): Promise<void> {
  for (let i = 0; i < 40; i++) {
    const jobs = Array.from({ length: Math.ceil(random(0, 12)) }, () => ({
      queue: 'mixed',
      priority: oneOf([0, 0, 1]),
      delay_seconds: oneOf([0, 0, 0, 0.3]),
      max_attempts: 1000,
      backoff: { base_seconds: 0.1, max_seconds: 0.3 },
      ...oneOf([{}, { fairness_key: oneOf(KEYS) }, { fairness_key: 'greedy' }, { fairness_key: 'greedy' }]),
    }));
    const { body } = await call('/jobs/batch', { jobs });
    for (const job of body.jobs) history.enqueued(job.id);
    await sleep(random(0, 100));
  }
}

async function settle(lease: Lease, verb: SettleVerb): Promise<void> {
  const sent = Date.now();
  const answer = await call(`/jobs/${lease.job}/${verb}`, { lease_token: lease.token });
  history.settled(lease, verb, sent, answer.status === 200 ? 'done' : 'refused');
}

const isOver = async () =>
  (await onAll(
    services[0]?.databaseUrl as string,
    `select from dibs.jobs where queue_id = (select id from dibs.queues where name = 'mixed') limit 1`,
  ).then((rows) => rows.length)) === 0;

test('workers that compete on three replicas lose no job with a key, and never hold the same job', async () => {
  let produced = false;
  const worker = async () => {
    while (!produced || !(await isOver())) {
      const lease_seconds = oneOf([0.2, 1]);
      const jobs = await claim('mixed', {
        limit: oneOf([1, 1, 2, 10]),
        lease_seconds,
        wait_seconds: random(0, 0.3),
      });
      const leases = jobs.map((job) => history.leased(job, lease_seconds));
      await sleep(random(0, 20));
      for (const lease of leases)
        if (Math.random() < 0.95) await settle(lease, oneOf(['ack', 'ack', 'ack', 'nack', 'release']));
    }
  };
  await Promise.all([produce().then(() => (produced = true)), ...Array.from({ length: WORKERS }, worker)]);
  expect(history.leases().length).toBeGreaterThan(100);
  expect(history.violations(new Set())).toEqual([]);
});
