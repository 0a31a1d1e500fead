import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { aroundQueries } from '../support/aroundQueries.ts';
import { openTransaction } from '../support/beside.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const STATES = ['scheduled', 'blocked', 'ready', 'completed', 'cancelled', 'dead'];

/** Purges the queue. Does `meanwhile` when the purge has been called, and has deleted nothing yet. */
async function purgeWhile(meanwhile: () => Promise<unknown>, states = STATES): Promise<number> {
  let begun = false;
  const undo = aroundQueries(service, async (_, parameters, run) => {
    if (!begun && parameters && 'next_transaction' in parameters) {
      begun = true;
      await meanwhile();
    }
    return run();
  });
  try {
    return (await at.ok('POST', `/queues/${queue}/purge`, { states })).count;
  } finally {
    undo();
    expect(begun).toBe(true);
  }
}

const left = async (): Promise<string[]> =>
  (await at.ok('GET', `/jobs?queue=${queue}&include=payload`)).jobs
    .map((job: { payload: string }) => job.payload)
    .sort();

/** Enqueues one job with this payload, and leases it. */
async function lease(payload: string) {
  await at.enqueue({ queue, payload, priority: 50 });
  return at.claimOne(queue, { lease_seconds: 600 });
}

async function dead(payload: string) {
  const job = await lease(payload);
  await at.settle('nack', job, { retry: false, error: payload });
  return job;
}

test('a purge leaves every job that comes, or comes back, after its call, whatever its created_at', async () => {
  await at.configure(queue, { retention_seconds: 600 });
  const nacked = await lease('nacked');
  const delayed = await lease('nacked with a delay');
  const released = await lease('released');
  const later = await lease('released with a delay');
  const rescued = await lease('rescued');
  const acked = await lease('acked');
  const died = await lease('died');
  const retried = await dead('retried, was dead');
  await dead('redriven');
  const soon = await at.enqueue({ queue, payload: 'retried, was scheduled', delay_seconds: 600 });
  const cancelled = await at.enqueue({ queue, payload: 'cancelled', delay_seconds: 600 });
  // All of these are there at the call, and stay as they are.
  await dead('there: dead');
  await at.enqueueAll([
    { queue, payload: 'there: scheduled', delay_seconds: 600 },
    { queue, payload: 'there: ready' },
    { queue, payload: 'there: with a key', fairness_key: 'k' },
    { queue, payload: 'there: head', group: 'g' },
    { queue, payload: 'there: blocked', group: 'g' },
  ]);
  const early = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await early.query(`select dibs.enqueue($1, '"enqueued before, committed after"')`, [queue]);
  await early.query('savepoint released');
  await early.query(`select dibs.enqueue($1, '"in a savepoint that was released"')`, [queue]);
  await early.query('release released');
  await early.query('savepoint open');
  await early.query(`select dibs.enqueue($1, '"in an open savepoint"')`, [queue]);
  const onlyInside = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await onlyInside.query('savepoint inside');
  await onlyInside.query(`select dibs.enqueue($1, '"only in a savepoint"')`, [queue]);
  await onlyInside.query('release inside');
  await at.enqueue({ queue, payload: 'there: committed after those' });
  const late = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await late.query('select now()');

  const count = await purgeWhile(async () => {
    await at.settle('nack', nacked, { delay_seconds: 0 });
    await at.settle('nack', delayed, { delay_seconds: 600 });
    await at.settle('release', released);
    await at.settle('release', later, { delay_seconds: 600 });
    await at.settle('ack', acked);
    await at.settle('nack', died, { retry: false });
    await at.ok('POST', `/jobs/${retried.id}/retry`);
    await at.ok('POST', `/jobs/${soon.id}/retry`);
    await at.ok('DELETE', `/jobs/${cancelled.id}`);
    // Here, a redrive would wait for its turn behind the chunk of the purge that waits for all this.
    await moves(other).ok('POST', `/queues/${queue}/redrive`, { error_contains: 'redriven' });
    await at.settle('extend', rescued, { lease_seconds: 0.1 });
    await at.reaches(rescued.id, 'ready');
    await at.enqueue({ queue, payload: 'enqueued' });
    await late.query(`select dibs.enqueue($1, '"began before, enqueued after"')`, [queue]);
    await late.end('commit');
    await early.end('commit');
    await onlyInside.end('commit');
  });
  expect(await left()).toEqual(
    [
      'acked',
      'began before, enqueued after',
      'cancelled',
      'died',
      'enqueued',
      'enqueued before, committed after',
      'in a savepoint that was released',
      'in an open savepoint',
      'only in a savepoint',
      'nacked',
      'nacked with a delay',
      'redriven',
      'released',
      'released with a delay',
      'rescued',
      'retried, was dead',
      'retried, was scheduled',
    ].sort(),
  );
  expect(count).toBe(7);
});

test('a purge leaves the jobs of a transaction with savepoints, however many transactions began after it', async () => {
  await at.configure(queue, {});
  const old = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await old.query('savepoint released');
  await old.query(`select dibs.enqueue($1, '"came late"')`, [queue]);
  await old.query('release released');
  const many = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await many.query('create temporary table used (n integer)');
  await many.query(`
    do $$
    begin
      for n in 1..210000 loop
        begin
          if n % 1000 = 0 then truncate used; end if;
          insert into used values (n);
        exception when division_by_zero then null;
        end;
      end loop;
    end
    $$`);
  await many.end('commit');
  await at.enqueue({ queue, payload: 'there' });
  expect(await purgeWhile(() => old.end('commit'))).toBe(1);
  expect(await left()).toEqual(['came late']);
}, 120_000);

test('a purge leaves a job whose delay ends after its call, and a job of a group that advances', async () => {
  await at.enqueueAll([
    { queue, payload: 'head', group: 'g' },
    { queue, payload: 'next', group: 'g' },
  ]);
  const head = await at.claimOne(queue);
  const { id } = await at.enqueue({ queue, payload: 'delayed', delay_seconds: 0.5 });
  const count = await purgeWhile(async () => {
    await at.reaches(id, 'ready');
    await at.settle('ack', head);
  });
  expect(count).toBe(0);
  expect(await left()).toEqual(['delayed', 'next']);
});

test('a redrive leaves a job dead that died again after its call', async () => {
  const one = await dead('again');
  let begun = false;
  const undo = aroundQueries(service, async (_, parameters, run) => {
    const rows = await run();
    if (parameters && 'after_finished_at' in parameters && !begun) {
      begun = true;
      await at.ok('POST', `/jobs/${one.id}/retry`);
      await at.settle('nack', await at.claimOne(queue), { retry: false });
    }
    return rows;
  });
  try {
    expect(await at.ok('POST', `/queues/${queue}/redrive`, {})).toEqual({ count: 0 });
  } finally {
    undo();
  }
  expect(begun).toBe(true);
  expect((await at.get(one.id)).state).toBe('dead');
});
