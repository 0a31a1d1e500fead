import { afterAll, beforeAll, expect, test } from 'vitest';
import { onServer, openClient } from '../support/database.ts';
import { reachable } from '../support/reachable.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Reachable = Awaited<ReturnType<typeof reachable>>;
let home: Reachable;
let a: Reachable;
let b: Reachable;
let service: Service;

beforeAll(async () => {
  [home, a, b] = await Promise.all([reachable(), reachable(), reachable()]);
  service = await startService({ databaseUrl: home.url, others: { a: a.url, b: b.url } });
  for (const database of ['home', 'a', 'b'])
    expect((await service.call('PUT', `/queues/in-${database}`, { database })).status).toBe(200);
});
afterAll(async () => {
  await service.stop();
  for (const database of [home, a, b]) await database.drop();
});

const batch = async (queue: string) => {
  const jobs = [{ queue: 'in-home' }, { queue, payload: 'first', group: 'g' }];
  const { status, body } = await service.call('POST', '/jobs/batch', { jobs });
  expect(status).toBe(201);
  return body.jobs[1];
};
const enqueue = (queue: string) => service.call('POST', '/jobs', { queue, payload: 'second', group: 'g' });

/** Claims and acks both jobs, as soon as they are there. */
async function drain(queue: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  while (seen.length < 2) {
    const { body } = await service.call('POST', '/jobs/claim', { queues: [queue], wait_seconds: 10 });
    const [job] = body.jobs;
    seen.push(job.payload);
    await service.call('POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token });
  }
  return seen;
}

test('what waited for a database that is back comes before a job that is enqueued there then', async () => {
  for (let round = 0; round < 3; round++) {
    await b.leave();
    await until(async () => (await enqueue('in-b')).status === 503);
    expect((await batch('in-b')).state).toBe('scheduled');
    await b.comeBack();
    await until(async () => (await enqueue('in-b')).status === 201, { everyMs: 5 });
    expect(await drain('in-b')).toEqual(['first', 'second']);
  }
});

test('what waited for a queue that has moved comes before a job that is enqueued there then', async () => {
  await until(async () => (await service.call('GET', '/queues')).body.away === undefined);
  for (const [from, to] of [
    ['a', 'b'],
    ['home', 'a'],
  ] as const) {
    const queue = `moves-to-${to}`;
    await service.call('PUT', `/queues/${queue}`, { database: from });
    const holder = await openClient((to === 'a' ? a : b).url);
    await holder.query('begin; lock table dibs.jobs in exclusive mode');
    expect((await service.call('POST', `/queues/${queue}/relocate`, { to })).status).toBe(202);
    await until(
      async () =>
        (
          await onServer(
            home.url,
            `select from dibs.placements where name = '${queue}' and moving_to is not null`,
          )
        ).length > 0,
    );
    expect((await batch(queue)).state).toBe('scheduled');
    const second = enqueue(queue);
    await holder.query('commit');
    await holder.end();
    expect((await second).status).toBe(201);
    expect(await drain(queue)).toEqual(['first', 'second']);
  }
});
