import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { outageAsRefusal } from '../../src/postgres/errorClasses.ts';
import { openClient } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const POOL = 10;
const QUEUES = ['known', 'second', 'third', 'fourth'];
/** 5 s are promised. The rest is for a busy machine. Whoever waits for a second timeout takes 10 s. */
const ANSWERED_MS = 8000;
const TOLD = expect.stringMatching(/^(not_done|unknown)$/);

let service: Service;
let holder: pg.Client;
let watcher: pg.Client;
beforeEach(async () => {
  service = await startService();
  [holder, watcher] = await Promise.all([openClient(service.databaseUrl), openClient(service.databaseUrl)]);
  for (const queue of QUEUES) await service.call('POST', '/jobs', { queue });
});
afterEach(async () => {
  await holder.query('rollback');
  await Promise.all([holder.end(), watcher.end()]);
  await service.stop();
});

async function backends(): Promise<number> {
  const { rows } = await watcher.query(
    `select count(*)::integer as n from pg_stat_activity where application_name = 'dibs' and datname = current_database()`,
  );
  return rows[0].n;
}

const jobs = async (): Promise<number> =>
  (await watcher.query('select count(*)::integer as n from dibs.jobs')).rows[0].n;

async function lockJobs(): Promise<void> {
  await holder.query('begin');
  await holder.query('lock table dibs.jobs in access exclusive mode');
}

test('while a table is locked, enqueues are 503 within 5 s, none is inserted afterwards, and no backend is left behind', async () => {
  await lockJobs();
  let most = 0;
  let answers: { status: number; outcome: unknown; ms: number }[] = [];
  const enqueues = Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      await sleep(i * 100);
      const started = performance.now();
      const { status, body } = await service.call('POST', '/jobs', { queue: QUEUES[i % QUEUES.length] });
      return { status, outcome: body.outcome, ms: performance.now() - started };
    }),
  ).then((all) => {
    answers = all;
  });
  while (answers.length === 0) {
    most = Math.max(most, await backends());
    await sleep(50);
  }
  await enqueues;
  expect(answers.filter(({ status }) => status !== 503)).toEqual([]);
  // A client that gives up just before the server, on a busy machine, can't know.
  const outcomes = answers.map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome !== 'unknown' && outcome !== 'not_done')).toEqual([]);
  expect(outcomes).toContain('not_done');
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(ANSWERED_MS);
  // One more listens for notifications.
  expect(most).toBeLessThanOrEqual(POOL + 1);

  await holder.query('rollback');
  await until(async () => (await service.call('POST', '/jobs', { queue: 'known' })).status === 201);
  await sleep(3000);
  expect(await jobs()).toBe(QUEUES.length + 1);
});

test('every call that changes something tells in its 503 whether it may have been done, and a look does not', async () => {
  const { body } = await service.call('POST', '/jobs/claim', { queues: ['known'], lease_seconds: 600 });
  const [{ id, lease_token }] = body.jobs;
  await lockJobs();
  const outcomes = await Promise.all(
    (
      [
        ['POST', '/jobs/batch', { jobs: [{ queue: 'known' }, { queue: 'second' }] }],
        ['POST', '/jobs/claim', { queues: ['known'] }],
        ['POST', `/jobs/${id}/ack`, { lease_token }],
        ['POST', `/jobs/${id}/nack`, { lease_token }],
        ['POST', '/jobs/settle', { acks: [{ id, lease_token }] }],
        ['POST', '/queues/known/purge', { states: ['ready'] }],
        ['GET', `/jobs/${id}`, undefined],
      ] as const
    ).map(async ([method, path, sent]) => {
      const answer = await service.call(method, path, sent);
      return [path.replace(id, 'id'), answer.status, answer.body.outcome ?? 'none'];
    }),
  );
  expect(outcomes).toEqual([
    ['/jobs/batch', 503, TOLD],
    ['/jobs/claim', 503, TOLD],
    ['/jobs/id/ack', 503, TOLD],
    ['/jobs/id/nack', 503, TOLD],
    ['/jobs/settle', 503, TOLD],
    ['/queues/known/purge', 503, 'unknown'],
    ['/jobs/id', 503, 'none'],
  ]);
});

test('an outage is not_done as long as nothing was sent, or when the server undid it, and else unknown', () => {
  const fromServer = (code: string) => Object.assign(new pg.DatabaseError('', 0, 'error'), { code });
  const outcomeOf = (error: unknown) => (outageAsRefusal(error) as { outcome?: string }).outcome;
  expect(outcomeOf(Object.assign(new Error('connect ECONNREFUSED'), { syscall: 'connect' }))).toBe(
    'not_done',
  );
  expect(outcomeOf(new Error('timeout exceeded when trying to connect'))).toBe('not_done');
  for (const code of ['57014', '53300', '25006', '57P03'])
    expect(outcomeOf(fromServer(code)), code).toBe('not_done');
  expect(outcomeOf(Object.assign(new Error('read ECONNRESET'), { syscall: 'read' }))).toBe('unknown');
  for (const message of ['Query read timeout', 'Connection terminated unexpectedly'])
    expect(outcomeOf(new Error(message)), message).toBe('unknown');
  for (const code of ['57P01', '57P02', '08006']) expect(outcomeOf(fromServer(code)), code).toBe('unknown');
});
