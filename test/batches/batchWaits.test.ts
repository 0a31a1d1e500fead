import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { aroundQueries } from '../support/aroundQueries.ts';
import { openClient } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';
import type { StatementName } from '../support/statements.ts';
import { until } from '../support/until.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;

beforeAll(async () => {
  service = await startService();
  at = moves(service);
});

afterAll(() => service.stop());

beforeEach(() => {
  queue = at.newQueue();
});

async function newBatch(): Promise<string> {
  const { id } = await at.ok('POST', '/batches', { queue, jobs: [{ queue }], closed: true });
  return id;
}

/** How often each of these statements runs until `stop`. */
function countRuns(files: StatementName[], of = service) {
  const runs: Record<string, number> = Object.fromEntries(files.map((file) => [file, 0]));
  const stop = aroundQueries(of, async ({ file = '' }, _, run) => {
    if (file in runs) runs[file] = (runs[file] as number) + 1;
    return run();
  });
  return { runs, stop };
}

test('however many requests wait for a batch, its jobs are not counted meanwhile, and a few times at its end', async () => {
  const id = await newBatch();
  const { runs, stop } = countRuns(['batches/find', 'batches/known']);
  const waiting = Array.from({ length: 60 }, () => service.call('GET', `/batches/${id}?wait_seconds=60`));
  const begun = () => runs['batches/known'] as number;
  await until(() => begun() > 60);
  const before = begun();
  // At least three looks of its own, of all that wait.
  await until(() => begun() >= before + 3);
  expect(runs['batches/find']).toBe(0);
  await at.settle('ack', await at.claimOne(queue));
  const answers = await Promise.all(waiting);
  stop();
  expect(answers.every(({ body }) => body.state === 'succeeded')).toBe(true);
  expect(runs['batches/find']).toBeLessThanOrEqual(10);
  expect(begun()).toBeLessThan(60 + 30);
});

test('a batch that is closed once more is refused without counting its jobs', async () => {
  const id = await newBatch();
  const { runs, stop } = countRuns(['batches/find']);
  for (let i = 0; i < 5; i++)
    expectProblem(await service.call('POST', `/batches/${id}/close`), 409, 'batch_closed');
  stop();
  expect(runs).toEqual({ 'batches/find': 0 });
});

test('the end of a batch wakes those who wait for it on each replica, without polling', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const there = await startService({ databaseUrl: service.databaseUrl });
  vi.useRealTimers();
  const id = await newBatch();
  const { runs, stop } = countRuns(['batches/known'], there);
  const waiting = there.call('GET', `/batches/${id}?wait_seconds=60`);
  await until(() => runs['batches/known'] === 2);
  await at.settle('ack', await at.claimOne(queue));
  expect((await waiting).body).toMatchObject({ id, state: 'succeeded' });
  stop();
  await there.stop();
});

test('a wait for a batch is answered even when the notification of its end is lost', async () => {
  const id = await newBatch();
  const { runs, stop } = countRuns(['batches/known']);
  const waiting = service.call('GET', `/batches/${id}?wait_seconds=60`);
  await until(() => (runs['batches/known'] as number) > 1);
  stop();
  const db = await openClient(await databaseOf(service.databaseUrl, queue));
  // As if another replica had done it, and its notification had been lost.
  await db.query('update dibs.batches set finished_at = now(), succeeded = true where id = $1', [id]);
  await db.end();
  expect((await waiting).body).toMatchObject({ state: 'succeeded' });
});
