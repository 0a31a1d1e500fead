import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LeasedJob } from '../../src/verbs/claims.ts';
import { claimToHangUp } from '../support/hangup.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

const ROUNDS = 100;
const LIMIT = 5;

let services: Service[];
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  const first = await startService();
  const others = await Promise.all([1, 2].map(() => startService({ databaseUrl: first.databaseUrl })));
  services = [first, ...others];
  at = moves(first);
});
afterAll(async () => {
  for (const service of services.toReversed()) await service.stop();
});

const random = (most: number) => Math.random() * most;
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;
const tokensOf = (jobs: LeasedJob[]) => jobs.map((job) => job.lease_token).sort();

const leasedIn = async (queues: string[]): Promise<string[]> => {
  const rows = await onAll<{ lease_token: string }>(
    (services[0] as Service).databaseUrl,
    `select lease_token from dibs.jobs
     where queue_id in (select id from dibs.queues where name = any ($1)) and state = 'leased'`,
    [queues],
  );
  return rows.map((row) => row.lease_token).sort();
};

/** Sends a claim from several clients, at about the same time. Some of them hang up, some before they have an answer. */
async function round(number: number) {
  const queues = [at.newQueue('x'), at.newQueue('y')].slice(0, 1 + (number % 2));
  const late = number % 5 === 4;
  const enqueue = () => at.enqueueAll(Array.from({ length: 3 * LIMIT }, () => ({ queue: oneOf(queues) })));
  if (!late) await enqueue();
  const body = { queues, claim_id: `round ${number}`, limit: LIMIT, lease_seconds: 600, wait_seconds: 3 };
  const spread = oneOf([0, 0, 5, 40]);
  const requests = Array.from({ length: 1 + (number % 6) }, async () => {
    await sleep(random(spread));
    const { jobs, hangUp } = claimToHangUp(oneOf(services).engine, body);
    const hangsUp = Math.random() < 0.6;
    if (!hangsUp) return { hangsUp, jobs: await jobs };
    await sleep(random(30));
    hangUp();
    await jobs;
    return { hangsUp, jobs: [] };
  });
  if (late) await sleep(random(60)).then(enqueue);
  return { number, queues, requests: await Promise.all(requests) };
}

test('what is leased is the one set that some request was answered with, whoever hangs up and when', async () => {
  const kinds = { given: 0, shared: 0, replaced: 0, back: 0 };
  for (let number = 0; number < ROUNDS; number++) {
    const { queues, requests } = await round(number);
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
    });
    if (answered.length > 0) kinds.given++;
    if (answered.length > 1) kinds.shared++;
    if (answered.length > 0 && answered.length < staying.length) kinds.replaced++;
    if (answered.length === 0) kinds.back++;
  }
  for (const [kind, times] of Object.entries(kinds)) expect(times, kind).toBeGreaterThan(0);
}, 300_000);
