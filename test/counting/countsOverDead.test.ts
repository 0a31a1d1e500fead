import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openClient } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { buffers, outline, prepare } from '../support/plans.ts';
import { type Service, startService } from '../support/service.ts';
import { rowsOf } from '../support/statements.ts';

const DEAD = 50_000;

let service: Service;
let at: ReturnType<typeof moves>;
let client: pg.Client;
/** Keeps a snapshot open, so that dead entries stay. */
let holder: pg.Client;
let queue: string;
let queue_id: number;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  [client, holder] = await Promise.all([openClient(service.databaseUrl), openClient(service.databaseUrl)]);
  await holder.query('begin isolation level repeatable read');
  await holder.query('select 1');
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, {});
  const { rows } = await client.query('select id from dibs.queues where name = $1', [queue]);
  queue_id = rows[0].id;
});
afterAll(async () => {
  await Promise.all([client.end(), holder.end()]);
  await service.stop();
});

const storeFloors = (rank: number, position: string, fairPosition: string) =>
  client.query(
    `insert into dibs.scan_floors select $1, $2, ${position}, ${fairPosition} from dibs.positions`,
    [queue_id, rank],
  );

const parameters = (limit: number | null, { leases_from = '-infinity', above_floors = true } = {}) => ({
  queue_ids: [queue_id],
  limits: [limit],
  leases_from,
  above_floors,
});

/** The pages that the count of the queue reads. */
async function pages(limit: number | null, from: Parameters<typeof parameters>[1] = {}) {
  const { run } = await prepare(client, 'counting/counts', 'generic');
  const plan = await run(parameters(limit, from));
  return { read: buffers(plan), drawn: outline(plan) };
}

async function makeDead(set: string): Promise<void> {
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, fairness_key)
     select $1, gen_random_uuid(), 'ready', now(), 0, 5, 4, '{}', 'null', case when n % 2 = 0 then 'k' end
     from generate_series(1, $2) n`,
    [queue_id, DEAD],
  );
  await client.query(`update dibs.jobs set ${set} where queue_id = $1`, [queue_id]);
  await client.query('delete from dibs.jobs where queue_id = $1', [queue_id]);
}

const READY = `state = 'ready'`;
const LEASED = `state = 'leased', attempt = 1, deliveries = 1, lease_token = gen_random_uuid(), leased_at = now() - interval '1 hour',
  lease_expires_at = now() - interval '1 minute'`;

test('counts above the stored scan floors see jobs of every priority, with keys and without, and the oldest of them', async () => {
  const counted = async () => (await rowsOf(client, 'counting/counts', parameters(100)))[0];
  expect(await counted()).toMatchObject({ ready: 0, oldest_ready_age_seconds: null });
  await at.enqueue({ queue, priority: 100 });
  await at.enqueue({ queue, fairness_key: 'k' });
  expect(await counted()).toMatchObject({ ready: 2 });
  await storeFloors(0, 'last_value', 'last_value');
  await storeFloors(-7, 'last_value', '-1');
  // The second one lies below a floor by now.
  expect(await counted()).toMatchObject({ ready: 1 });
  for (const job of [
    { priority: -100, fairness_key: 'k' },
    { priority: 7 },
    { priority: 7, fairness_key: 'k' },
    {},
    {},
    { priority: 3 },
  ])
    await at.enqueue({ queue, ...job });
  expect(await counted()).toMatchObject({ ready: 7 });
  await client.query(
    `update dibs.jobs set run_at = now() - interval '1 hour' where queue_id = $1 and priority = 3`,
    [queue_id],
  );
  expect((await counted())?.oldest_ready_age_seconds).toBeGreaterThan(3599);
});

test.each([1000, 0])(
  'a count of %s does not read the dead entries below the stored scan floors',
  async (limit) => {
    await makeDead(READY);
    await storeFloors(0, 'last_value', 'last_value');
    const whole = await pages(limit, { above_floors: false });
    const above = await pages(limit);
    expect(above.read, above.drawn).toBeLessThan(whole.read / 5);
  },
);

test('a count does not read the dead entries of leases that ended before the scan horizon', async () => {
  await makeDead(LEASED);
  await storeFloors(0, 'last_value', 'last_value');
  const whole = await pages(0);
  const { rows } = await client.query('select now()::text as now');
  const behind = await pages(0, { leases_from: rows[0].now });
  expect(behind.read, behind.drawn).toBeLessThan(whole.read / 5);
});

test('counts begin at the scan horizon of the sweeper', async () => {
  const { query } = service.db;
  const asked: string[] = [];
  service.db.query = (statement, parameters) => {
    const { leases_from } = (parameters ?? {}) as { leases_from?: string };
    // The due look begins there, too.
    if (leases_from && statement.file !== 'maintenance/next_due') asked.push(leases_from);
    return query(statement, parameters);
  };
  // For some seconds after a start, the sweeper leaves its horizon where it is (src/maintenance/rescueGrace.ts).
  await eventually(async () => {
    asked.length = 0;
    await at.ok('GET', `/queues/${queue}`);
    expect(asked).toHaveLength(1);
    expect(Date.now() - Date.parse(asked[0] as string)).toBeLessThan(60_000);
  });
  service.db.query = query;
});
