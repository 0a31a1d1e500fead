import { afterAll, beforeAll, expect, test } from 'vitest';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { standstillOf } from '../support/standstill.ts';

/** The quotes of these bodies held up the event loop for half a second and more, on a machine with nothing else to do. */
const BOUND_MS = 300;
const QUOTES = `[${'"",'.repeat(5200)}""]`;

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

// biome-ignore lint/suspicious/noExplicitAny: leases, as they were answered.
async function leases(config: object = {}): Promise<any[]> {
  const queue = at.newQueue();
  await at.configure(queue, config);
  await at.enqueueAll(Array.from({ length: 1000 }, () => ({ queue })));
  return at.claim(queue, { limit: 1000, lease_seconds: 600 });
}

async function settle(list: string, jobs: { id: string; lease_token: string }[], more: string) {
  const items = jobs.map(({ id, lease_token }) => `{"id":"${id}","lease_token":"${lease_token}",${more}}`);
  const body = `{"${list}":[${items.join()}]}`;
  let answer: Awaited<ReturnType<Service['call']>> | undefined;
  const ms = await standstillOf(async () => {
    answer = await service.call('POST', '/jobs/settle', body);
  });
  expect(answer?.status, answer?.text).toBe(200);
  expect(answer?.body[list].map((item: { status: number }) => item.status)).toEqual(jobs.map(() => 200));
  expect(ms).toBeLessThan(BOUND_MS);
}

test('1000 results full of quotes do not hold up the event loop, and are kept as they were sent', async () => {
  const jobs = await leases({ retention_seconds: 3600 });
  await settle('acks', jobs, `"result":${QUOTES}`);
  expect((await service.call('GET', `/jobs/${jobs[7].id}`)).text).toContain(`"result":${QUOTES},`);
});

test('1000 texts of progress full of quotes do not hold up the event loop', async () => {
  const jobs = await leases();
  await settle('extends', jobs, `"lease_seconds":600,"progress":${QUOTES}`);
  expect((await service.call('GET', `/jobs/${jobs[7].id}`)).text).toContain(`"progress":${QUOTES},`);
});

test('1000 errors full of quotes do not hold up the event loop', async () => {
  const jobs = await leases();
  await settle('nacks', jobs, `"error":"${'\\"'.repeat(8000)}"`);
  expect((await at.get(jobs[7].id)).last_error).toBe('"'.repeat(8000));
});

test('an error of 16 MiB is taken, also with characters beyond Latin-1', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const job = await at.claimOne(queue);
  const nacked = await at.settle('nack', job, { error: `${'x'.repeat(16_700_000)}語` });
  expect(nacked.status, nacked.text).toBe(200);
  expect(nacked.body.last_error).toBe('x'.repeat(16 * 1024));
});

test('keys full of quotes come back as they were sent, also beside jobs without keys', async () => {
  const queue = at.newQueue();
  const odd = '"\\{},'.repeat(51);
  const keys = { unique_key: odd, group: `${odd}g`, fairness_key: `${odd}f` };
  const [first, second] = await at.enqueueAll([{ queue, ...keys }, { queue }]);
  expect(first).toMatchObject({ ...keys, state: 'ready' });
  expect(second).toMatchObject({ unique_key: null, group: null, fairness_key: null });
  expect(await at.enqueue({ queue, unique_key: odd })).toMatchObject({ id: first.id, deduplicated: true });
});
