import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { type Made, makeJobs, oneClaim } from '../support/jobs.ts';
import { buffers, type Mode, nodes, outline, type PlanNode, prepare } from '../support/plans.ts';

const MAX_LEASED = 50;
/** Entries of the claim log in the window of the rate limit. */
const ENTRIES = 500;
const MODES: Mode[] = ['generic', 'custom'];

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** What goes to the database with a limited claim, before and behind it. */
const AROUND = ['claim/limit_lock', 'claim/limit_upkeep', 'claim/rate_next'] as const;

const limitedClaim = (queue: number) => ({ ...oneClaim(queue, 100), holds_lock: true });

async function prepareAll(client: pg.Client, mode: Mode): Promise<Map<string, Prepared>> {
  const prepared = new Map<string, Prepared>();
  for (const name of [...AROUND, 'claim/limited'] as const) {
    const statement = await prepare(client, name, mode);
    await statement.plan(name === 'claim/limited' ? limitedClaim(1) : { queue_id: 1 });
    prepared.set(name, statement as Prepared);
  }
  return prepared;
}

/** Gives queues 1 and 2 limits and a history of claims. Queue 1 has 20 counted leases, queue 2 has 10,000. */
async function limit(client: pg.Client): Promise<Made> {
  await client.query(
    `update dibs.queues set max_leased = $1, rate_jobs = 1000000, rate_seconds = 100, max_ready = 1000 where id in (1, 2)`,
    [MAX_LEASED],
  );
  await client.query(
    `insert into dibs.claim_limits (queue_id, counting_since, pruned_at) values (1, '-infinity', now()), (2, '-infinity', now())`,
  );
  await client.query(
    `insert into dibs.claim_log (queue_id, until, jobs)
     select queue, now() - entry * interval '200 ms', 1 from generate_series(1, 2) queue, generate_series(0, $1) entry`,
    [10 * ENTRIES],
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
    before: (client) => client.query('vacuum analyze dibs.jobs, dibs.claim_log'),
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
      client = await openClient(database.url);
      for (const table of ['jobs', 'queues', 'claim_limits', 'claim_log'])
        await client.query(`alter table dibs.${table} set (autovacuum_enabled = false)`);
      await before(client);
      await client.query(`insert into dibs.queues (id, name) values (1, 'q1'), (2, 'q2')`);
      if (!analyzed) for (const mode of MODES) kept.set(mode, await prepareAll(client, mode));
      await limit(client);
      if (!analyzed) return;
      await client.query('vacuum analyze dibs.jobs, dibs.claim_log, dibs.claim_limits, dibs.queues');
      for (const mode of MODES) kept.set(mode, await prepareAll(client, mode));
    });
    afterAll(async () => {
      await client.end();
      await database.drop();
    });

    test.each(MODES)(
      'a limited claim by its %s plan reads the leases and the window that it counts, and what it returns; in an empty queue nothing',
      async (mode) => {
        const statement = planOf(mode, 'claim/limited');
        const open = await statement.run(limitedClaim(1));
        const drawn = outline(open);
        // 20 leases counted, 30 jobs found and updated.
        expect(readsOf(open, 'jobs'), drawn).toBeLessThanOrEqual(20 + 4 * 30);
        expect(readsOf(open, 'claim_log'), drawn).toBeLessThanOrEqual(ENTRIES + 1);
        expect(drawn).toContain('jobs_counted');
        const empty = await statement.run(limitedClaim(2));
        expect(readsOf(empty, 'jobs') + readsOf(empty, 'claim_log'), outline(empty)).toBe(0);
        await makeJobs(client, { jobs: 10, state: 'ready', queue: 2, from: 4_000_000 });
        const full = await statement.run(limitedClaim(2));
        expect(readsOf(full, 'jobs'), outline(full)).toBeLessThanOrEqual(MAX_LEASED + 1);
        await client.query(`delete from dibs.jobs where queue_id = 2 and state = 'ready'`);
      },
    );

    test.each(MODES)(
      'the statements around a limited claim read as little by their %s plans',
      async (mode) => {
        for (const name of AROUND) {
          const plan = await planOf(mode, name).run({ queue_id: 1 });
          expect(readsOf(plan, 'jobs'), `${name}\n${outline(plan)}`).toBeLessThanOrEqual(1);
          expect(readsOf(plan, 'claim_log'), `${name}\n${outline(plan)}`).toBeLessThanOrEqual(ENTRIES + 1);
        }
      },
    );

    test.each(MODES)(
      'the count of leases from before the limit reads only leases, by its %s plan',
      async (mode) => {
        await client.query(`update dibs.claim_limits set counting_since = now() where queue_id = 2`);
        const plan = await planOf(mode, 'claim/limit_upkeep').run({ queue_id: 2 });
        expect(readsOf(plan, 'jobs'), outline(plan)).toBeLessThanOrEqual(30_020 + 20);
        expect(outline(plan)).not.toContain('Seq Scan jobs');
      },
    );

    test('the capacity of a queue is counted in indexes, up to max_ready', async () => {
      const plan = await (await prepare(client, 'enqueue/capacity', 'generic')).run({ queue_id: 1 });
      // 1000 of 50,000: up to 260 blocks, what planning it reads included; one that read the table would take 700 more.
      expect(buffers(plan)).toBeLessThan(400);
    });
  });
}
