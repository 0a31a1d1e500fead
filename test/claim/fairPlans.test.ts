import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { FRONT, makeJobs, oneFairClaim, oneFrontClaim } from '../support/jobs.ts';
import { buffers, type Mode, nodes, outline, type PlanNode, prepare, rowsTouched } from '../support/plans.ts';

const JOBS = 100_000;
const MODES: Mode[] = ['generic', 'custom'];

/** The queues. They differ in how many jobs and keys they have. */
const LOPSIDED = 1;
const MANY_KEYS = 2;
const FEW_JOBS = 3;
const SINGLE_JOBS = 4;

type Prepared<N extends 'claim/fair' | 'claim/front'> = Awaited<ReturnType<typeof prepare<N>>>;

const manyKeys = Array.from({ length: 1000 }, (_, i) => `key-${i}`);

async function fill(client: pg.Client): Promise<void> {
  const ready = { state: 'ready' };
  await makeJobs(client, { ...ready, jobs: JOBS, queue: LOPSIDED, keys: ['large'] });
  await makeJobs(client, { ...ready, jobs: 10, queue: LOPSIDED, from: JOBS + 1, keys: ['small'] });
  await makeJobs(client, { ...ready, jobs: JOBS, queue: MANY_KEYS, from: 2 * JOBS, keys: manyKeys });
  await makeJobs(client, { ...ready, jobs: 2000, queue: FEW_JOBS, from: 3 * JOBS, keys: ['large', 'small'] });
  await makeJobs(client, { ...ready, jobs: 1000, queue: SINGLE_JOBS, from: 4 * JOBS, keys: manyKeys });
}

function judge(plan: PlanNode, rows: number, byKeys = 'jobs_fair'): void {
  const drawn = outline(plan);
  expect(rowsTouched(plan), drawn).toBeLessThanOrEqual(rows);
  const scans = nodes(plan).filter(
    (node) =>
      node['Relation Name'] === 'jobs' && node['Node Type'].includes('Scan') && node['Actual Loops'] !== 0,
  );
  expect(new Set(scans.map((node) => node['Index Name'])), drawn).toEqual(
    new Set([byKeys, 'jobs_ready', 'jobs_pkey']),
  );
}

const histories: Record<string, { before(client: pg.Client): Promise<unknown>; after: string }> = {
  'never analyzed': { before: async () => undefined, after: 'select' },
  'analyzed while empty': { before: (client) => client.query('vacuum analyze dibs.jobs'), after: 'select' },
  'with fresh statistics': { before: async () => undefined, after: 'vacuum analyze dibs.jobs' },
};

for (const [history, { before, after }] of Object.entries(histories)) {
  describe(history, () => {
    let database: Awaited<ReturnType<typeof createDatabase>>;
    let client: pg.Client;
    let holder: pg.Client;
    const kept = new Map<Mode, Prepared<'claim/fair'>>();
    const fronts = new Map<Mode, Prepared<'claim/front'>>();
    const claim = (mode: Mode) => kept.get(mode) as Prepared<'claim/fair'>;
    const front = (mode: Mode) => fronts.get(mode) as Prepared<'claim/front'>;
    beforeAll(async () => {
      database = await createDatabase();
      client = await openClient(database.url);
      await client.query('alter table dibs.jobs set (autovacuum_enabled = false)');
      await before(client);
      for (const mode of MODES) {
        kept.set(mode, await prepare(client, 'claim/fair', mode));
        fronts.set(mode, await prepare(client, 'claim/front', mode));
        // The first run makes the generic plan, and the connection keeps it.
        await claim(mode).plan(oneFairClaim(LOPSIDED, 1));
        await front(mode).plan(oneFrontClaim(LOPSIDED, 1));
      }
      await fill(client);
      await client.query(after);
      holder = await openClient(database.url);
    });
    afterEach(() => holder.query('rollback'));
    afterAll(async () => {
      await holder.end();
      await client.end();
      await database.drop();
    });

    test.each(MODES)(
      'a claim from 100,000 jobs of one key and 10 of another touches a handful of rows by its %s plan',
      async (mode) => {
        const plan = await claim(mode).run(oneFairClaim(LOPSIDED, 1));
        judge(plan, 14);
        expect(buffers(plan), outline(plan)).toBeLessThan(150);
      },
    );

    test.each(MODES)(
      'a claim costs what it returns by its %s plan, however many jobs and keys there are',
      async (mode) => {
        for (const queue of [LOPSIDED, MANY_KEYS, FEW_JOBS, SINGLE_JOBS])
          for (const count of [1, 100])
            judge(await claim(mode).run(oneFairClaim(queue, count)), 5 * count + 20);
      },
    );

    test.each(MODES)(
      'a claim of the front reads a bounded number of jobs by its %s plan, however many there are',
      async (mode) => {
        for (const queue of [LOPSIDED, MANY_KEYS, FEW_JOBS, SINGLE_JOBS])
          for (const count of [1, 100])
            judge(
              await front(mode).run(oneFrontClaim(queue, count)),
              FRONT + 5 * count + 20,
              'jobs_fair_arrival',
            );
      },
    );

    test.each(MODES)(
      'a claim also costs a probe for each key that other claims have locked, by its %s plan',
      async (mode) => {
        await holder.query('begin');
        await holder.query(
          'select from dibs.jobs where queue_id = $1 and fairness_key < $2 and priority = 4 for update',
          [SINGLE_JOBS, 'key-5'],
        );
        const { rows } = await holder.query(
          'select count(*)::integer as n from dibs.jobs where queue_id = $1 and fairness_key < $2 and priority = 4',
          [SINGLE_JOBS, 'key-5'],
        );
        expect(rows[0].n).toBeGreaterThan(80);
        const plan = await claim(mode).run(oneFairClaim(SINGLE_JOBS, 1));
        expect(plan['Actual Rows']).toBe(1);
        judge(plan, 3 * rows[0].n + 20);
      },
    );
  });
}
