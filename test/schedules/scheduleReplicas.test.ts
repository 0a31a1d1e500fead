import pg from 'pg';
import { afterEach, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { hourly, rewind, secondsFrom } from '../support/schedules.ts';
import { until } from '../support/until.ts';

const SCHEDULES = Array.from({ length: 8 }, (_, i) => `every-second-${i}`);
const EVERY_SECOND = '* * * * * *';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function start(url: string): Promise<Replica> {
  const replica = await startReplica({ DATABASE_URL: url, DATABASE_POOL_SIZE: '3' });
  undo.push(() => replica.end('SIGKILL'));
  return replica;
}

async function three(): Promise<{ url: string; replicas: Replica[] }> {
  const database = await createDatabase();
  undo.push(database.drop);
  return { url: database.url, replicas: await Promise.all([1, 2, 3].map(() => start(database.url))) };
}

const at = (replica: Replica | undefined) => client((replica as Replica).url);

/** Puts schedules that tick every second, each into a queue of the same name. Returns their first ticks. */
async function putAll(replica: Replica | undefined): Promise<Map<string, string>> {
  const firsts = new Map<string, string>();
  for (const name of SCHEDULES) {
    const schedule = { cron: EVERY_SECOND, job: { queue: name } };
    firsts.set(name, (await at(replica).ok('PUT', `/schedules/${name}`, schedule)).next_run_at);
  }
  return firsts;
}

/** Waits until the schedules have ticked this often, pauses them, and compares their jobs with their ticks. */
async function expectOneJobPerTick(replica: Replica | undefined, firsts: Map<string, string>, ticks: number) {
  const { ok } = at(replica);
  for (const [name, first] of firsts) {
    await until(async () => {
      const { last_run_at } = await ok('GET', `/schedules/${name}`);
      return last_run_at !== null && secondsFrom(first, last_run_at) >= ticks;
    });
    const paused = { cron: EVERY_SECOND, paused: true, job: { queue: name } };
    const { last_run_at } = await ok('PUT', `/schedules/${name}`, paused);
    const { jobs } = await ok('GET', `/jobs?queue=${name}&limit=1000`);
    expect({ name, jobs: jobs.length }).toEqual({ name, jobs: secondsFrom(first, last_run_at) });
  }
}

test('three replicas enqueue one job for each tick', async () => {
  const { replicas } = await three();
  await expectOneJobPerTick(replicas[1], await putAll(replicas[0]), 4);
});

test('no tick is lost or doubled when replicas are killed again and again', async () => {
  const { url, replicas } = await three();
  const [survivor] = replicas;
  const firsts = await putAll(survivor);
  for (let kill = 0; kill < 4; kill++) {
    const victim = replicas[1 + (kill % 2)] as Replica;
    // Every second kill comes right before a tick, the others at any moment.
    await until(() => Date.now() % 1000 > 985 || kill % 2 === 1, { everyMs: 3 });
    await victim.end('SIGKILL');
    replicas[1 + (kill % 2)] = await start(url);
  }
  await expectOneJobPerTick(survivor, firsts, 6);
});

test('after all replicas were killed, one job makes up for all missed ticks', async () => {
  const { url, replicas } = await three();
  await at(replicas[0]).ok('PUT', '/schedules/hourly', { cron: hourly(), job: { queue: 'hourly' } });
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await rewind(url, 'hourly', 50 * 3600);
  const again = await Promise.all([start(url), start(url)]);
  await until(async () => (await at(again[0]).ok('GET', '/schedules/hourly')).last_run_at !== null);
  const { next_run_at } = await at(again[1]).ok('GET', '/schedules/hourly');
  expect(Date.parse(next_run_at)).toBeGreaterThan(Date.now());
  expect((await at(again[0]).ok('GET', '/jobs?queue=hourly')).jobs).toHaveLength(1);
});

test('a replica that is killed before its tick commits leaves the tick to another, which enqueues one job', async () => {
  const database = await createDatabase();
  undo.push(database.drop);
  const victim = await start(database.url);
  const { ok } = at(victim);
  await ok('PUT', '/schedules/hourly', { cron: hourly(), job: { queue: 'held' } });
  await ok('PUT', '/queues/held', {});
  const holder = new pg.Client(database.url);
  await holder.connect();
  undo.push(() => holder.end());
  // The enqueue waits for this lock. The same transaction has taken the tick before.
  await holder.query(`begin`);
  await holder.query(`select from dibs.queues where name = 'held' for update`);
  await rewind(database.url, 'hourly', 1);
  await until(async () => {
    const text = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    return (await onServer(database.url, text)).length > 0;
  });
  await victim.end('SIGKILL');
  const other = await start(database.url);
  await holder.query('commit');
  await until(async () => (await at(other).ok('GET', '/schedules/hourly')).last_run_at !== null);
  expect((await at(other).ok('GET', '/jobs?queue=held')).jobs).toHaveLength(1);
});
