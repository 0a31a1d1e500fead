import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase, onServer } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { hourly, rewind, secondsFrom } from '../support/schedules.ts';
import { type Service, startService } from '../support/service.ts';
import { AT_HOME, relaysAreEmpty } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
let name: string;
let queue: string;
let started: number;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  started = performance.now();
});
beforeEach(() => {
  name = at.newQueue('s');
  queue = at.newQueue();
});
afterAll(() => service.stop());

const EVERY_SECOND = '* * * * * *';

const put = (body: object, as = name): Promise<Json> => at.ok('PUT', `/schedules/${as}`, body);
const get = (as = name): Promise<Json> => at.ok('GET', `/schedules/${as}`);
const jobs = async (of = queue): Promise<Json[]> => {
  await relaysAreEmpty(service.databaseUrl);
  return (await at.ok('GET', `/jobs?queue=${of}&include=payload&limit=1000`)).jobs;
};

/** Waits until the next tick of a schedule is in the future. */
const caughtUp = (as = name) =>
  eventually(async () => {
    const schedule = await get(as);
    expect(Date.parse(schedule.next_run_at)).toBeGreaterThan(Date.now());
    return schedule;
  });

test('each tick enqueues one job, and the last tick is last_run_at', async () => {
  const spec = { cron: EVERY_SECOND, job: { queue, payload: 'tick' } };
  const { next_run_at: first } = await put(spec);
  await eventually(async () => expect((await jobs()).length).toBeGreaterThan(2));
  const { last_run_at } = await put({ ...spec, paused: true });
  const made = await jobs();
  expect(made).toHaveLength(secondsFrom(first, last_run_at));
  expect(new Set(made.map((job) => job.payload))).toEqual(new Set(['tick']));
});

test('the job of a tick is the same as one from POST /jobs', async () => {
  const job = { queue, priority: -3, max_attempts: 9, headers: { a: 'b' }, delay_seconds: 500, payload: [1] };
  const posted = await at.get((await at.enqueue(job)).id);
  await put({ cron: hourly(), job });
  await rewind(service.databaseUrl, name, 1);
  await caughtUp();
  const ticked = (await jobs()).find(({ id }) => id !== posted.id);
  const own = { id: '', run_at: '', created_at: '' };
  expect({ ...ticked, ...own }).toEqual({ ...posted, ...own });
});

test('a tick creates the queue of its job, also after the queue was deleted', async () => {
  await put({ cron: hourly(), job: { queue } });
  for (let i = 0; i < 2; i++) {
    await rewind(service.databaseUrl, name, 1);
    await caughtUp();
    expect(await jobs()).toHaveLength(1);
    await at.ok('DELETE', `/queues/${queue}?force=true`);
  }
});

test('a claim that waits gets the job of a tick', async () => {
  await put({ cron: hourly(), job: { queue, payload: 'ticked' } });
  const claimed = at.claimOne(queue, { wait_seconds: 20 });
  await rewind(service.databaseUrl, name, 1);
  expect((await claimed).payload).toBe('ticked');
});

describe('missed ticks', () => {
  test('give exactly one job when a replica starts, and the last of them is last_run_at', async () => {
    const database = await createDatabase();
    const before = await startService({ databaseUrl: database.url });
    await before.call('PUT', '/schedules/s', { cron: hourly(), job: { queue } });
    await before.stop();
    await rewind(database.url, 's', 100 * 3600);
    const after = await startService({ databaseUrl: database.url });
    await eventually(async () =>
      expect((await after.call('GET', '/schedules/s')).body.last_run_at).not.toBeNull(),
    );
    const { last_run_at, next_run_at } = (await after.call('GET', '/schedules/s')).body;
    expect(Date.parse(next_run_at)).toBeGreaterThan(Date.now());
    expect(Date.parse(next_run_at) - Date.parse(last_run_at)).toBe(3_600_000);
    expect((await after.call('GET', `/jobs?queue=${queue}`)).body.jobs).toHaveLength(1);
    await after.stop();
    await database.drop();
  });

  test('give one job when a replica is late by days', async () => {
    await put({ cron: hourly(), job: { queue } });
    await rewind(service.databaseUrl, name, 100 * 3600);
    await caughtUp();
    expect(await jobs()).toHaveLength(1);
  });

  test('give a job each when a replica is late by seconds', async () => {
    await eventually(async () => expect(performance.now() - started).toBeGreaterThan(4000));
    await put({ cron: EVERY_SECOND, job: { queue } });
    const first = await rewind(service.databaseUrl, name, 3);
    await caughtUp();
    const { last_run_at } = await put({ cron: EVERY_SECOND, paused: true, job: { queue } });
    expect(await jobs()).toHaveLength(secondsFrom(first, last_run_at));
  });

  test('survive a PUT of the same cron, for example by a program that starts', async () => {
    const cron = hourly();
    const idle = await createDatabase();
    const before = await startService({ databaseUrl: idle.url });
    await before.call('PUT', '/schedules/s', { cron, job: { queue } });
    // The duties have ended, so the tick stays missed.
    await before.engine.stop();
    const first = await rewind(idle.url, 's', 60);
    const again = await before.call('PUT', '/schedules/s', { cron, job: { queue, priority: 1 } });
    expect(again.body).toMatchObject({ next_run_at: first, job: { priority: 1 } });
    const other = await before.call('PUT', '/schedules/s', { cron: '0 0 1 1 *', job: { queue } });
    expect(Date.parse(other.body.next_run_at)).toBeGreaterThan(Date.now());
    await before.app.close();
    await before.db.close();
    await idle.drop();
  });
});

describe('a paused schedule', () => {
  test('does not tick, and has no next run', async () => {
    await put({ cron: EVERY_SECOND, paused: true, job: { queue } });
    const [other, otherQueue] = [at.newQueue('s'), at.newQueue()];
    await put({ cron: EVERY_SECOND, job: { queue: otherQueue } }, other);
    await eventually(async () => expect((await jobs(otherQueue)).length).toBeGreaterThan(2));
    await at.ok('DELETE', `/schedules/${other}`);
    expect(await get()).toMatchObject({ next_run_at: null, last_run_at: null });
    expect(await jobs()).toEqual([]);
  });

  test('does not make up for missed ticks when it goes on', async () => {
    const cron = hourly();
    await put({ cron, job: { queue } });
    await rewind(service.databaseUrl, name, 1);
    const { last_run_at } = await caughtUp();
    await put({ cron, paused: true, job: { queue } });
    const resumed = await put({ cron, job: { queue } });
    expect(Date.parse(resumed.next_run_at)).toBeGreaterThan(Date.now());
    expect(resumed.last_run_at).toBe(last_run_at);
    expect(await jobs()).toHaveLength(1);
  });
});

test('a schedule whose job is refused delays no other, and ticks when the cause is gone', async () => {
  await at.configure(queue, AT_HOME);
  await put({ cron: hourly(), job: { queue } });
  const damage = (job: string) =>
    onServer(service.databaseUrl, 'update dibs.schedules set job = $2 where name = $1', [name, job]);
  await damage(`{"queue":"${queue}","priority":1000}`);
  await rewind(service.databaseUrl, name, 1);
  await eventually(async () => expect(service.errors.map(String).join()).toContain('job_priority'));
  const [other, otherQueue] = [at.newQueue('s'), at.newQueue()];
  await put({ cron: hourly(), job: { queue: otherQueue } }, other);
  await rewind(service.databaseUrl, other, 1);
  await caughtUp(other);
  expect(await jobs(otherQueue)).toHaveLength(1);
  expect(await jobs()).toEqual([]);
  await damage(`{"queue":"${queue}"}`);
  await caughtUp();
  expect(await jobs()).toHaveLength(1);
});
