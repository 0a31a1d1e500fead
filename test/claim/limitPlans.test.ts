import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { type Made, makeJobs, TOKEN } from '../support/jobs.ts';
import { buffers, type Mode, nodes, outline, type PlanNode, prepare } from '../support/plans.ts';

const MAX_LEASED = 50;
/** Entries in the log of the rate, in its window and before. */
const SLOTS = 500;
const MODES: Mode[] = ['generic', 'custom'];

type Prepared = Awaited<ReturnType<typeof prepare>>;

const STATEMENTS: Record<string, (queue: number) => unknown[]> = {
  'claim/limit_lock': (queue) => [queue],
  'claim/limit_upkeep': (queue) => [queue],
  'claim/limited': (queue) => [
    queue,
    100,
    2 ** 24,
    [1],
    [TOKEN],
    [30],
    ['w'],
    [-100],
    [-1],
    [100],
    null,
    null,
  ],
  'claim/rate_next': (queue) => [queue],
};

async function prepareAll(client: pg.Client, mode: Mode): Promise<Map<string, Prepared>> {
  const prepared = new Map<string, Prepared>();
  for (const [name, parameters] of Object.entries(STATEMENTS)) {
    const statement = await prepare(client, name, mode);
    await statement.plan(parameters(1));
    prepared.set(name, statement);
  }
  return prepared;
}

/** Gives queues 1 and 2 limits and a history of claims; queue 1 has 20 counted leases, queue 2 has 10,000. */
async function limit(client: pg.Client): Promise<Made> {
  await client.query(
    `update dibs.queues set max_leased = $1, rate_jobs = 1000000, rate_seconds = 100, max_ready = 1000 where id in (1, 2)`,
    [MAX_LEASED],
  );
  await client.query(
    `insert into dibs.gates (queue_id, counting_since, tidied_at) values (1, '-infinity', now()), (2, '-infinity', now())`,
  );
  await client.query(
    `insert into dibs.claimed (queue_id, until, jobs)
     select queue, now() - slot * interval '200 ms', 1 from generate_series(1, 2) queue, generate_series(0, $1) slot`,
    [10 * SLOTS],
  );
  const made = await makeJobs(client, { jobs: 50_000, state: 'ready' });
  await makeJobs(client, { jobs: 20, state: 'leased', from: 1_000_000 });
  await makeJobs(client, { jobs: 10_000, state: 'leased', queue: 2, from: 2_000_000 });
  await makeJobs(client, { jobs: 20_000, state: 'leased', queue: 3, from: 3_000_000 });
  await client.query(`update dibs.jobs set counted = true where state = 'leased' and queue_id in (1, 2)`);
  return made;
}

const readsOf = (plan: PlanNode, relation: string) =>
  nodes(plan)
    .filter((node) => node['Relation Name'] === relation && node['Node Type'].includes('Scan'))
    .reduce(
      (sum, node) =>
        sum +
        ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1),
      0,
    );

const histories: Record<string, { before(client: pg.Client): Promise<unknown>; analyzed: boolean }> = {
  'while the queue was empty': { before: async () => undefined, analyzed: false },
  'while the queue was empty, analyzed': {
    before: (client) => client.query('vacuum analyze dibs.jobs, dibs.claimed'),
    analyzed: false,
  },
  'with fresh statistics': { before: async () => undefined, analyzed: true },
};

for (const [history, { before, analyzed }] of Object.entries(histories)) {
  describe(`planned ${history}`, () => {
    let database: Awaited<ReturnType<typeof createDatabase>>;
    let client: pg.Client;
    const kept = new Map<Mode, Map<string, Prepared>>();
    const planOf = (mode: Mode, name: string) => kept.get(mode)?.get(name) as Prepared;
    beforeAll(async () => {
      database = await createDatabase();
      client = new pg.Client(database.url);
      await client.connect();
      for (const table of ['jobs', 'queues', 'gates', 'claimed'])
        await client.query(`alter table dibs.${table} set (autovacuum_enabled = false)`);
      await before(client);
      await client.query(`insert into dibs.queues (id, name) values (1, 'q1'), (2, 'q2')`);
      if (!analyzed) for (const mode of MODES) kept.set(mode, await prepareAll(client, mode));
      await limit(client);
      if (!analyzed) return;
      await client.query('vacuum analyze dibs.jobs, dibs.claimed, dibs.gates, dibs.queues');
      for (const mode of MODES) kept.set(mode, await prepareAll(client, mode));
    }, 60_000);
    afterAll(async () => {
      await client.end();
      await database.drop();
    });

    test.each(MODES)(
      'a limited claim by its %s plan reads its leases, its window and what it returns',
      async (mode) => {
        const statement = planOf(mode, 'claim/limited');
        const room = await statement.run(STATEMENTS['claim/limited']?.(1) as unknown[]);
        const drawn = outline(room);
        // 20 leases counted, 30 jobs found and updated.
        expect(readsOf(room, 'jobs'), drawn).toBeLessThanOrEqual(20 + 4 * 30);
        expect(readsOf(room, 'claimed'), drawn).toBeLessThanOrEqual(SLOTS + 1);
        expect(drawn).toContain('jobs_counted');
        const full = await statement.run(STATEMENTS['claim/limited']?.(2) as unknown[]);
        expect(readsOf(full, 'jobs'), outline(full)).toBeLessThanOrEqual(MAX_LEASED);
      },
    );

    test.each(MODES)('what goes with it by its %s plan reads as little', async (mode) => {
      for (const name of ['claim/limit_lock', 'claim/limit_upkeep', 'claim/rate_next']) {
        const plan = await planOf(mode, name).run([1]);
        expect(readsOf(plan, 'jobs'), `${name}\n${outline(plan)}`).toBeLessThanOrEqual(1);
        expect(readsOf(plan, 'claimed'), `${name}\n${outline(plan)}`).toBeLessThanOrEqual(SLOTS + 1);
      }
    });

    test.each(MODES)('marking the leases that ran before reads leases only, by its %s plan', async (mode) => {
      await client.query(`update dibs.gates set counting_since = now() where queue_id = 2`);
      const plan = await planOf(mode, 'claim/limit_upkeep').run([2]);
      expect(readsOf(plan, 'jobs'), outline(plan)).toBeLessThanOrEqual(30_020 + 20);
      expect(outline(plan)).not.toContain('Seq Scan jobs');
    });

    test('room is looked for in indexes, up to the limit', async () => {
      const plan = await (await prepare(client, 'enqueue/capacity', 'generic')).run([1]);
      // 1000 of 50,000: up to 260 blocks, what planning it reads included; one that read the table would take 700 more.
      expect(buffers(plan)).toBeLessThan(400);
    });
  });
}
