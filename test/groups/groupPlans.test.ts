import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { newJobs, oneClaim, parametersOf } from '../support/jobs.ts';
import { buffers, type Mode, nodes, outline, type PlanNode, prepare, rowsTouched } from '../support/plans.ts';
import { type ParametersOf, rowsOf, type StatementName } from '../support/statements.ts';

const JOBS = 30_000;
const MODES: Mode[] = ['generic', 'custom'];

/** Long names make large indexes, which look expensive to the planner. */
const LENGTH = 100;
const groupOf = (n: number) => `g${n}`.padEnd(LENGTH, 'x');
const execute = async (client: pg.Client, text: string) => void (await client.query(text));

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Groups of one queue. Each but every hundredth has a ready head. `depth` jobs of each group are blocked. */
const SHAPES = {
  'one group of 30,000 jobs': { groups: 1, depth: JOBS },
  '30,000 groups': { groups: JOBS, depth: 1 },
};

/** Inserts the jobs of a shape up to the given number of them. */
async function makeGroups(client: pg.Client, { depth }: { depth: number }, upTo: number) {
  await client.query(`insert into dibs.queues (id, name) values (1, 'q1') on conflict do nothing`);
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, is_head, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
     select 1, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
       (case when is_head then 'ready' else 'blocked' end)::dibs.job_state, is_head,
       now(), 5, 20, 0, '{}', '{"to":"ada"}', rpad('g' || nr, $3::integer, 'x')
     from generate_series((select count(*) from dibs.jobs), $1::integer - 1) n
     cross join lateral (select n / $2::integer as nr, n % $2::integer = 0 and n / $2::integer % 100 <> 0 as is_head) as place`,
    [upTo, depth + 1, LENGTH],
  );
}

/** What was done before the plans were made. */
const HISTORIES: Record<string, (client: pg.Client, fill: (upTo: number) => Promise<void>) => Promise<void>> =
  {
    'planned while empty': async () => undefined,
    'planned and analyzed while empty': (client) => execute(client, 'vacuum analyze dibs.jobs'),
    'planned for few jobs, never analyzed': (_, fill) => fill(JOBS / 10),
    'with fresh statistics': async (client, fill) => {
      await fill(JOBS);
      await execute(client, 'vacuum analyze dibs.jobs');
    },
  };

/** The indexes by which a plan reads jobs. */
function indexesOf(plan: PlanNode) {
  const scans = nodes(plan).filter(
    (node) => node['Relation Name'] === 'jobs' && node['Node Type'].includes('Scan'),
  );
  return [...new Set(scans.map((node) => node['Index Name']))].sort();
}

function judge(plan: PlanNode, items: number): void {
  const drawn = outline(plan);
  expect(indexesOf(plan), drawn).toEqual(['jobs_blocked', 'jobs_head', 'jobs_pkey']);
  expect(rowsTouched(plan), drawn).toBeLessThanOrEqual(3 * items);
  // Measured: 24 to 36 for one group, and for each of 400.
  expect(buffers(plan), drawn).toBeLessThan(100 + 40 * items);
}

for (const [shape, wish] of Object.entries(SHAPES))
  for (const [history, begin] of Object.entries(HISTORIES))
    describe(`${shape}, ${history}`, () => {
      let database: Awaited<ReturnType<typeof createDatabase>>;
      let client: pg.Client;
      const kept = new Map<string, Prepared>();
      beforeAll(async () => {
        database = await createDatabase();
        client = await openClient(database.url);
        await client.query('alter table dibs.jobs set (autovacuum_enabled = false)');
        const fill = (upTo: number) => makeGroups(client, wish, upTo);
        await begin(client, fill);
        for (const mode of MODES)
          for (const name of [
            'groups/advance',
            'groups/advance_several',
            'groups/narrow',
            'groups/waiting',
            'groups/lead',
            'groups/headless',
            'enqueue/insert',
            'claim/heads',
            'claim/one',
            'claim/plain',
          ] as const) {
            const statement = await prepare(client, name, mode);
            // A generic plan is made now, and kept.
            await statement.plan(parametersOf(name, { first: 1, last: 1, by: 1, queue: 1 }, 1));
            kept.set(`${name} ${mode}`, statement as Prepared);
          }
        await fill(wish.groups * (wish.depth + 1));
      });
      afterAll(async () => {
        await client.end();
        await database.drop();
      });

      const run = <N extends StatementName>(name: N, mode: Mode, parameters: ParametersOf<N>) =>
        (kept.get(`${name} ${mode}`) as Prepared).run(parameters);

      test.each(MODES)(
        'the advance of groups costs two probes for each group by its %s plan',
        async (mode) => {
          for (const count of wish.groups === 1 ? [1] : [1, 400]) {
            const groups = Array.from({ length: count }, (_, i) => groupOf(i * 100));
            judge(await run('groups/advance', mode, { queue_id: 1, groups }), count);
          }
        },
      );

      test.each(MODES)(
        'the advance of groups that may have several heads costs some probes for each group by its %s plan',
        async (mode) => {
          await client.query('update dibs.queues set group_concurrency = 3');
          for (const count of wish.groups === 1 ? [1] : [1, 400]) {
            const groups = Array.from({ length: count }, (_, i) => groupOf(i * 100 + 7));
            const plan = await run('groups/advance_several', mode, { queue_id: 1, groups });
            expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(7 * count + 1);
            expect(buffers(plan), outline(plan)).toBeLessThan(150 + 100 * count);
          }
          await client.query('update dibs.queues set group_concurrency = 1');
        },
      );

      test.each(MODES)(
        'the look for groups with too many heads goes from group to group by its %s plan',
        async (mode) => {
          for (const limit of [1, 100]) {
            const plan = await run('groups/narrow', mode, { queue_id: 1, after: '', limit, groups: [] });
            const looked = Math.min(limit, wish.groups);
            expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(10 * looked + 5);
            expect(buffers(plan), outline(plan)).toBeLessThan(60 + 30 * looked);
          }
        },
      );

      test.each(MODES)(
        'the look at groups after an ack, an enqueue, and the look after it, cost one or two probes for each group by their %s plans',
        async (mode) => {
          for (const count of wish.groups === 1 ? [1] : [1, 400]) {
            const groups = Array.from({ length: count }, (_, i) => groupOf(i * 100 + 1));
            const look = await run('groups/waiting', mode, { queue_id: 1, groups });
            expect(indexesOf(look), outline(look)).toEqual(['jobs_blocked']);
            expect(rowsTouched(look), outline(look)).toBeLessThanOrEqual(count);
            const ids = groups.map((_, i) => `ffffffff-0000-7000-8000-${String(i).padStart(12, '0')}`);
            const enqueue = await run('enqueue/insert', mode, {
              ...newJobs(1, ids),
              groups,
              leads: groups.map(() => true),
              batches: null,
            });
            expect(indexesOf(enqueue), outline(enqueue)).toEqual(['jobs_blocked', 'jobs_head']);
            expect(rowsTouched(enqueue), outline(enqueue)).toBeLessThanOrEqual(2 * count);
            const lead = await run('groups/lead', mode, { queue_id: 1, ids, groups });
            for (const index of indexesOf(lead))
              expect(['jobs_blocked', 'jobs_head', 'jobs_pkey'], outline(lead)).toContain(index);
            expect(rowsTouched(lead), outline(lead)).toBeLessThanOrEqual(2 * count);
          }
        },
      );

      test('the search for groups without a head goes from group to group', async () => {
        for (const [queue_id, to_queue_id] of [
          [1, 1],
          [0, 2 ** 31 - 1],
        ] as const) {
          const plan = await run('groups/headless', 'custom', {
            queue_id,
            after: '',
            to_queue_id,
            limit: 100,
          });
          const looked = Math.min(100, wish.groups);
          expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(2 * looked);
          expect(buffers(plan), outline(plan)).toBeLessThan(20 + 10 * looked);
        }
      });

      test.each(MODES)('a claim costs what it returns by its %s plan', async (mode) => {
        await client.query(`update dibs.jobs set state = 'ready', is_head = true where id = (
          select id from dibs.jobs where group_key = '${groupOf(0)}' order by position limit 1)`);
        for (const name of ['claim/heads', 'claim/one', 'claim/plain'] as const) {
          const plan = await run(name, mode, oneClaim(1, 1));
          expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(6);
          expect(buffers(plan), outline(plan)).toBeLessThan(85);
        }
      });
    });

/** 3,000 queues with a group of 20 jobs each. Each but every hundredth has a ready head. */
async function manyQueues() {
  const database = await createDatabase();
  const client = await openClient(database.url);
  await client.query('alter table dibs.jobs set (autovacuum_enabled = false)');
  await client.query(`insert into dibs.queues (id, name) select n, 'q' || n from generate_series(1, 3000) n`);
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, is_head, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
     select 1 + n / 20, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
       (case when is_head then 'ready' else 'blocked' end)::dibs.job_state, is_head, now(), 5, 20, 0, '{}', '1', 'g'
     from generate_series(0, 59999) n
     cross join lateral (select n % 20 = 0 and n / 20 % 100 <> 0 as is_head) as place`,
  );
  return {
    client,
    async drop() {
      await client.end();
      await database.drop();
    },
  };
}
const HISTORIES_OF_MANY = ['select', 'vacuum analyze dibs.jobs'];

test('the search for groups without a head goes from queue to queue as from group to group', async () => {
  const { client, drop } = await manyQueues();
  for (const analyze of HISTORIES_OF_MANY) {
    await client.query(analyze);
    const { run } = await prepare(client, 'groups/headless', 'custom');
    const plan = await run({ queue_id: 0, after: '', to_queue_id: 2 ** 31 - 1, limit: 1000 });
    expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(2 * 1000);
    expect(buffers(plan), outline(plan)).toBeLessThan(10 * 1000);
  }
  const [found] = await rowsOf(client, 'groups/headless', {
    queue_id: 500,
    after: 'g',
    to_queue_id: 2 ** 31 - 1,
    limit: 1000,
  });
  expect(found).toMatchObject({ last_queue_id: 1500, last_group: 'g' });
  expect(found?.queue_ids?.toSorted((a: number, b: number) => a - b)).toEqual([
    501, 601, 701, 801, 901, 1001, 1101, 1201, 1301, 1401,
  ]);
  expect(found?.groups).toEqual(Array.from({ length: 10 }, () => 'g'));
  await drop();
});

test('the advance of groups of many queues costs two probes for each group', async () => {
  const { client, drop } = await manyQueues();
  // Every hundredth queue has no head, and those from 3001 on do not exist.
  const queue_ids = Array.from({ length: 1000 }, (_, i) => 1 + i * 10);
  const groups = queue_ids.map(() => 'g');
  for (const analyze of HISTORIES_OF_MANY) {
    await client.query(analyze);
    const { run } = await prepare(client, 'groups/advance_many', 'custom');
    const plan = await run({ queue_ids, groups });
    expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(2 * 300 + 3 * 30);
    expect(buffers(plan), outline(plan)).toBeLessThan(10 * 1000);
  }
  await client.query("select setval('dibs.positions', 10000000)");
  const advanced = await rowsOf(client, 'groups/advance_many', { queue_ids, groups });
  expect(advanced.map(({ queue_id }) => queue_id).toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 30 }, (_, i) => 1 + i * 100),
  );
  const { rows } = await client.query(
    `select queue_id, (select count(distinct position)::integer from dibs.jobs where position > 10000000) as positions
     from dibs.jobs where state = 'ready' and is_head and position > 10000000 order by queue_id`,
  );
  expect(rows).toEqual(Array.from({ length: 30 }, (_, i) => ({ queue_id: 1 + i * 100, positions: 30 })));
  await drop();
});
