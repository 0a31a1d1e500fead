import { afterAll, beforeAll, expect, test } from 'vitest';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const workers = async (query = '') => (await service.call('GET', `/workers${query}`)).body;

/** A worker claims jobs of a queue. */
async function work(queue: string, worker: string | undefined, limit: number) {
  await at.enqueueAll(Array.from({ length: limit }, () => ({ queue })));
  return at.claim(queue, { limit, worker, lease_seconds: 600 });
}

test('who works now is told from leases: how many, of which queues, since when; settled ones are gone', async () => {
  const [mail, sms] = [at.newQueue(), at.newQueue()];
  const first = await work(mail, 'host-1:7', 2);
  await work(sms, 'host-1:7', 1);
  await work(mail, 'host-2:9', 1);
  await work(mail, undefined, 1);
  const { created_at } = await at.get(first[0].id);
  const all = await workers();
  expect(all).toMatchObject({
    total: 3,
    complete: true,
    workers: [
      { worker: 'host-1:7', leased: 3, queues: [mail, sms].sort() },
      { worker: 'host-2:9', leased: 1, queues: [mail] },
      { worker: null, leased: 1, queues: [mail] },
    ],
  });
  const [{ since, next_lease_expires_at }] = all.workers;
  expect(Date.parse(since)).toBeGreaterThanOrEqual(Date.parse(created_at));
  expect(next_lease_expires_at).toBe(first[0].lease_expires_at);
  expect((await workers(`?queue=${sms}`)).workers).toMatchObject([{ worker: 'host-1:7', leased: 1 }]);
  for (const job of first) await at.settle('ack', job);
  expect((await workers(`?queue=${mail}`)).workers).toMatchObject([{ leased: 1 }, { leased: 1 }]);
});

test('the jobs that a worker has are listed over all queues: leases are few', async () => {
  const [one, two] = [at.newQueue(), at.newQueue()];
  const ids = [...(await work(one, 'over-all', 1)), ...(await work(two, 'over-all', 1))].map(({ id }) => id);
  const { body } = await service.call('GET', '/jobs?state=leased&worker=over-all');
  expect(body.jobs.map(({ id }: { id: string }) => id).sort()).toEqual(ids.sort());
  expect((await service.call('GET', '/jobs?worker=over-all')).status).toBe(400);
});
