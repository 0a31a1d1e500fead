import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type RunningEngine, startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from '../support/database.ts';
import { moves } from '../support/moves.ts';
import { rawClient } from '../support/rawClient.ts';
import { startService } from '../support/service.ts';
import type { StatementName } from '../support/statements.ts';
import { until } from '../support/until.ts';

const CONNECTIONS = 10;

/** An engine that tells how many statements of these names it runs at once. */
async function enginePacing(names: StatementName[]) {
  const database = await createDatabase();
  const pool = openDatabase(database.url, CONNECTIONS);
  let running = 0;
  let most = 0;
  let runs = 0;
  const db: Database = {
    ...pool,
    async query(statement, parameters) {
      if (!names.includes(statement.file as StatementName)) return pool.query(statement, parameters);
      most = Math.max(most, ++running);
      runs++;
      // Statements that end at once would hide how many may run.
      await sleep(5);
      return pool.query(statement, parameters).finally(() => running--);
    },
  };
  const engine: RunningEngine = await startEngine({ db, listenUrl: database.url, log: () => undefined });
  const [job] = await engine.enqueue({ jobs: [{}], at: () => '' });
  const id = job?.id as string;
  // The queue is known by now.
  await engine.getJob({ id });
  return {
    engine,
    id,
    async mostDuring(work: () => Promise<void>): Promise<number> {
      most = 0;
      await work();
      return most;
    },
    async runsDuring(work: () => Promise<unknown>): Promise<number> {
      runs = 0;
      await work();
      return runs;
    },
    async stop(): Promise<void> {
      engine.stopWaiting();
      await engine.stop();
      await pool.close();
      await database.drop();
    },
  };
}

test('hundreds of requests that look at single jobs leave connections to others', async () => {
  const { engine, id, mostDuring, stop } = await enginePacing(['settle/job', 'settle/jobs']);
  const most = await mostDuring(async () => {
    const looks = await Promise.all(Array.from({ length: 500 }, () => engine.getJob({ id })));
    expect(looks.every((look) => look.id === id)).toBe(true);
  });
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(CONNECTIONS / 2);
  await stop();
});

test('hundreds of requests for pages of jobs leave connections to others', async () => {
  const { engine, id, mostDuring, stop } = await enginePacing(['looking/list_newest']);
  const list = () => engine.listJobs({ order: 'newest', limit: 100, payload: true, max_bytes: 2 ** 20 });
  const most = await mostDuring(async () => {
    const pages = await Promise.all(Array.from({ length: 500 }, list));
    expect(pages.every(({ jobs }) => jobs[0]?.id === id)).toBe(true);
  });
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(CONNECTIONS / 2);
  await stop();
});

const LOOKS: StatementName[] = [
  'counting/counts',
  'looking/explain_job',
  'looking/explain_queue',
  'history/history',
  'looking/list_newest',
  'operations/list',
  'looking/list_queues',
  'counting/samples_read',
  'schedules/list',
  'settle/job',
];

test('hundreds of looks of all kinds, each at something else, leave connections to others', async () => {
  const { engine, id, mostDuring, stop } = await enginePacing(LOOKS);
  await engine.enqueue({ jobs: Array.from({ length: 20 }, (_, i) => ({ queue: `q${i}` })), at: () => '' });
  const most = await mostDuring(async () => {
    // On a busy machine, those that wait for long are 503.
    const ended = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => [
        engine.getQueue({ queue: `q${i}` }),
        engine.explainQueue({ queue: `q${i}` }),
        engine.listQueues({ limit: 10 + i }),
        engine.listJobs({ order: 'newest', limit: 10 + i, payload: false, max_bytes: 2 ** 20 }),
        engine.getSamples({ minutes: 10 + i }),
        engine.listSchedules({ limit: 10 + i, max_bytes: 2 ** 20 }),
        engine.listOperations({ limit: 10 + i }),
        engine.getJob({ id }),
        engine.explainJob({ id }),
        engine.getJobHistory({ id }),
      ]).flat(),
    );
    expect(ended.some(({ status }) => status === 'fulfilled')).toBe(true);
  });
  expect(most).toBeGreaterThan(0);
  // Two of these, and four that read single jobs.
  expect(most).toBeLessThanOrEqual(6);
  await stop();
});

test('equal looks that come together share a few statements', async () => {
  const { engine, runsDuring, stop } = await enginePacing(LOOKS);
  const together = (look: () => Promise<unknown>) =>
    runsDuring(() => Promise.all(Array.from({ length: 200 }, look)));
  for (const look of [
    () => engine.getQueue({ queue: 'default' }),
    () => engine.explainQueue({ queue: 'default' }),
    () => engine.listQueues({ limit: 10 }),
    () => engine.listSchedules({ limit: 10, max_bytes: 2 ** 20 }),
    () => engine.getSamples({ minutes: 60 }),
  ]) {
    const runs = await together(look);
    expect(runs).toBeGreaterThan(0);
    expect(runs).toBeLessThanOrEqual(10);
  }
  await stop();
});

test('beside many readers, each look shows what was answered before it was asked', async () => {
  const { engine, stop } = await enginePacing(LOOKS);
  let isOver = false;
  const readers = Array.from({ length: 30 }, async () => {
    while (!isOver) {
      await engine.getQueue({ queue: 'default' });
      await engine.explainQueue({ queue: 'default' });
    }
  });
  for (let i = 0; i < 15; i++) {
    await engine.pauseQueue({ queue: 'default' });
    expect(await engine.getQueue({ queue: 'default' })).toMatchObject({ paused: true });
    expect(await engine.explainQueue({ queue: 'default' })).toMatchObject({ code: 'paused' });
    await engine.resumeQueue({ queue: 'default' });
    expect(await engine.explainQueue({ queue: 'default' })).toMatchObject({ code: 'ready' });
    await engine.enqueue({ jobs: [{}], at: () => '' });
    // One job was there before.
    expect(await engine.getQueue({ queue: 'default' })).toMatchObject({ counts: { ready: i + 2 } });
  }
  isOver = true;
  await Promise.all(readers);
  await stop();
});

test('probes that come together share one look, and so do those of a moment later', async () => {
  const { engine, runsDuring, stop } = await enginePacing(['postgres/readiness']);
  const ask = () => Promise.all(Array.from({ length: 500 }, () => engine.readiness()));
  const runs = await runsDuring(async () => {
    for (const { reason } of [...(await ask()), ...(await ask())]) expect(reason).toBeUndefined();
  });
  // A busy machine may take longer than that moment.
  expect(runs).toBeLessThanOrEqual(20);
  await stop();
});

test('a client that pipelines hundreds of requests for a job does not hold up the looks of other connections', async () => {
  const service = await startService();
  const at = moves(service);
  const url = await service.listen();
  const [mine, yours] = [at.newQueue(), at.newQueue()];
  const { id } = await at.enqueue({ queue: mine });
  const other = await at.enqueue({ queue: yours });
  await at.get(id);
  const read: unknown[] = [];
  const { query } = service.db;
  service.db.query = async (statement, parameters) => {
    if (statement.file === 'settle/job') {
      read.push((parameters as { id?: string }).id);
      await sleep(20);
    }
    return query.call(service.db, statement, parameters) as never;
  };
  const many = rawClient(url, `GET /jobs/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(500));
  await until(() => read.length >= 4);
  expect((await fetch(`${url}/jobs/${other.id}`)).status).toBe(200);
  // First come, first served, it would be the last one.
  expect(read.indexOf(other.id)).toBeLessThan(400);
  many.socket.destroy();
  await service.stop();
});
