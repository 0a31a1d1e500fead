import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { hourly, rewind, secondsFrom } from '../support/schedules.ts';
import { until } from '../support/until.ts';

const EVERY_SECOND = '* * * * * *';

let database: Awaited<ReturnType<typeof createDatabase>>;
/** All that were started. `replicas` are those that live. */
const started: Replica[] = [];
let replicas: Replica[];
beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(start));
});
afterAll(async () => {
  await Promise.all(started.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function start(): Promise<Replica> {
  const replica = await startReplica({ DATABASE_URL: database.url, DATABASE_POOL_SIZE: '3' });
  started.push(replica);
  return replica;
}

const at = (replica: Replica | undefined) => client((replica as Replica).url);

/** Puts schedules that tick every second, each into a queue of the same name. Returns their first ticks. */
async function putAll(replica: Replica | undefined, what: string): Promise<Map<string, string>> {
  const firsts = new Map<string, string>();
  for (const name of Array.from({ length: 8 }, (_, i) => `${what}-${i}`)) {
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
  await expectOneJobPerTick(replicas[1], await putAll(replicas[0], 'calm'), 4);
});

test('no tick is lost or doubled when replicas are killed again and again', async () => {
  const [survivor] = replicas;
  const firsts = await putAll(survivor, 'killed');
  for (let kill = 0; kill < 4; kill++) {
    const victim = replicas[1 + (kill % 2)] as Replica;
    // Every second kill comes right before a tick, the others at any moment.
    await until(() => Date.now() % 1000 > 985 || kill % 2 === 1, { everyMs: 3 });
    await victim.end('SIGKILL');
    replicas[1 + (kill % 2)] = await start();
  }
  await expectOneJobPerTick(survivor, firsts, 6);
});

test('after all replicas were killed, one job makes up for all missed ticks', async () => {
  await at(replicas[0]).ok('PUT', '/schedules/hourly', { cron: hourly(), job: { queue: 'hourly' } });
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await rewind(database.url, 'hourly', 50 * 3600);
  replicas = await Promise.all([start(), start()]);
  await until(async () => (await at(replicas[0]).ok('GET', '/schedules/hourly')).last_run_at !== null);
  const { next_run_at } = await at(replicas[1]).ok('GET', '/schedules/hourly');
  expect(Date.parse(next_run_at)).toBeGreaterThan(Date.now());
  expect((await at(replicas[0]).ok('GET', '/jobs?queue=hourly')).jobs).toHaveLength(1);
});

test('a replica that is killed before its tick commits leaves the tick to another, which enqueues one job', async () => {
  // Only the victim can take the tick.
  const [victim, other] = replicas as [Replica, Replica];
  await other.end('SIGKILL');
  const { ok } = at(victim);
  await ok('PUT', '/schedules/held', { cron: hourly(), job: { queue: 'held' } });
  await ok('PUT', '/queues/held', {});
  const holder = await openClient(database.url);
  undo.push(() => holder.end());
  // The enqueue waits for this lock. The same transaction has taken the tick before.
  await holder.query(`begin`);
  await holder.query(`select from dibs.queues where name = 'held' for update`);
  await rewind(database.url, 'held', 1);
  await until(async () => {
    const text = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
    return (await onServer(database.url, text)).length > 0;
  });
  await victim.end('SIGKILL');
  const heir = await start();
  await holder.query('commit');
  await until(async () => (await at(heir).ok('GET', '/schedules/held')).last_run_at !== null);
  expect((await at(heir).ok('GET', '/jobs?queue=held')).jobs).toHaveLength(1);
});
