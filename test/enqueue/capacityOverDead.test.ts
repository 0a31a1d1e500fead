import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openClient } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
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
  await at.configure(queue, { max_ready: 5 });
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

test('where the whole count runs into its time limit, enqueues keep within max_ready all the same', async () => {
  const { pipeline } = service.db;
  const sleep = { text: 'select pg_sleep(60)', parameters: [] };
  service.db.pipeline = (calls, sent, turn) =>
    pipeline(
      calls.map((call) =>
        call.statement.name === 'enqueue/capacity' ? { ...call, statement: sleep } : call,
      ),
      sent,
      turn,
    );
  for (let i = 0; i < 5; i++) await at.enqueue({ queue, ...(i > 2 && { fairness_key: 'k' }) });
  expectProblem(await service.call('POST', '/jobs', { queue }), 429, 'queue_full');
  service.db.pipeline = pipeline;
});

test('the count above the stored scan floors sees jobs of every priority, with keys and without, and blocked ones', async () => {
  const capacity = async () =>
    (await rowsOf(client, 'enqueue/capacity_above_floors', { queue_id }))[0]?.capacity;
  expect(await capacity()).toBe(5);
  await at.enqueue({ queue, priority: 100 });
  await at.enqueue({ queue, fairness_key: 'k' });
  expect(await capacity()).toBe(3);
  await storeFloors(0, 'last_value', 'last_value');
  await storeFloors(-7, 'last_value', '-1');
  // The second one lies below a floor by now.
  expect(await capacity()).toBe(4);
  await at.enqueue({ queue, priority: -100, fairness_key: 'k' });
  await at.enqueue({ queue, priority: 7 });
  await at.enqueue({ queue, group: 'g' });
  expect(await capacity()).toBe(1);
  await client.query(
    `update dibs.jobs set state = 'blocked', is_head = false where queue_id = $1 and group_key = 'g'`,
    [queue_id],
  );
  expect(await capacity()).toBe(1);
});

test('the count above the stored scan floors does not read the dead entries below them', async () => {
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, fairness_key)
     select $1, gen_random_uuid(), 'ready', now(), 0, 5, 4, '{}', 'null', case when n % 2 = 0 then 'k' end
     from generate_series(1, $2) n`,
    [queue_id, DEAD],
  );
  await client.query('delete from dibs.jobs where queue_id = $1', [queue_id]);
  const read = async () => {
    const { run } = await prepare(client, 'enqueue/capacity_above_floors', 'generic');
    const plan = await run({ queue_id });
    return { pages: buffers(plan), drawn: outline(plan) };
  };
  const whole = await read();
  await storeFloors(0, 'last_value', 'last_value');
  const above = await read();
  expect(above.pages, above.drawn).toBeLessThan(whole.pages / 5);
});
