import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FIRST_ID, LAST_ID } from '../../src/ids.ts';
import { readSql } from '../../src/postgres/statements.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { type Mode, outline, type PlanNode, prepare, rowsRead, wholeScans } from '../support/plans.ts';
import type { ParametersOf, StatementName } from '../support/statements.ts';

const JOBS = 100_000;
const QUEUES = 1000;
const OF_QUEUE = JOBS / QUEUES;
const LIMIT = 10;
const MODES: Mode[] = ['generic', 'custom'];
const RELOCATION = '00000000-0000-7000-8000-000000000001';
/** The records of repeatable claims and of idempotency keys are read whole, once: they are kept for a day at most. */
const TABLES = ['jobs', 'relocating_jobs', 'unique_windows'];

/** The first column of each index by which the statements look. */
const FIRST: Record<string, string> = {
  jobs_by_state: 'queue_id',
  relocating_jobs_pkey: 'queue_id',
  unique_windows_pkey: 'queue_id',
};

/**
 * The jobs of the queues take turns, so those of one queue are on all pages. Those of queues above 900 were taken out. Each job
 * has a unique window, and every tenth is leased.
 */
async function makeQueues(client: pg.Client): Promise<void> {
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload,
       lease_token, lease_expires_at, claim_holder)
     select 1 + n % ${QUEUES}, md5(n::text)::uuid, (case when isLeased then 'leased' else 'ready' end)::dibs.job_state,
       now(), 5, 20, 0, '{}', '{"to":"ada"}', case when isLeased then md5(n::text)::uuid end,
       case when isLeased then now() + interval '1 s' end, case when isLeased then md5(n::text)::uuid end
     from generate_series(0, ${JOBS} - 1) as n, lateral (select n / ${QUEUES} % 10 = 0 as isLeased) as leased`,
  );
  await client.query(
    'with taken as (delete from dibs.jobs where queue_id > 900 returning *) insert into dibs.relocating_jobs select * from taken',
  );
  await client.query(
    `insert into dibs.relocating_queues (queue_id, relocation, role)
     values (500, $1, 'leaving'), (950, $1, 'returning')`,
    [RELOCATION],
  );
  await client.query(
    `insert into dibs.unique_windows (queue_id, unique_key, until, job_id, job)
     select 1 + n % ${QUEUES}, 'key' || n, now(), md5(n::text)::uuid, '{}'
     from generate_series(0, ${JOBS} - 1) as n`,
  );
}

describe('1,000 queues with 100,000 jobs', () => {
  const histories: Record<string, (client: pg.Client) => Promise<unknown>> = {
    'never analyzed': async () => undefined,
    'analyzed while empty': (client) =>
      client.query('vacuum analyze dibs.jobs, dibs.relocating_jobs, dibs.unique_windows'),
  };
  for (const [history, prelude] of Object.entries(histories))
    describe(history, () => {
      let database: Awaited<ReturnType<typeof createDatabase>>;
      let client: pg.Client;
      const kept = new Map<string, Awaited<ReturnType<typeof prepare>>>();

      /** What each statement of a relocation may read of the tables that grow with other queues. */
      const statements: { [N in StatementName]?: { parameters: ParametersOf<N>; rows: number } } = {
        'relocation/size': { parameters: { queue_id: 500 }, rows: OF_QUEUE },
        'relocation/take_out': {
          parameters: { queue_id: 500, relocation: RELOCATION, before: LAST_ID, limit: LIMIT },
          rows: 2 * LIMIT,
        },
        'relocation/put_back': {
          parameters: { queue_id: 950, relocation: RELOCATION, after: FIRST_ID, limit: LIMIT },
          rows: 2 * LIMIT,
        },
        'relocation/drop_jobs': {
          parameters: { queue_id: 950, relocation: RELOCATION, after: FIRST_ID, limit: LIMIT },
          rows: 2 * LIMIT,
        },
        'relocation/windows_out': { parameters: { queue_id: 500, after: 'key', limit: LIMIT }, rows: LIMIT },
        'relocation/drop_rest': { parameters: { queue_id: 500, relocation: RELOCATION }, rows: OF_QUEUE },
        'relocation/rest_out': { parameters: { queue_id: 950 }, rows: OF_QUEUE },
        'relocation/extend_leases': { parameters: { queue_id: 500, seconds: 5 }, rows: OF_QUEUE },
      };

      beforeAll(async () => {
        database = await createDatabase();
        client = await openClient(database.url);
        for (const table of TABLES)
          await client.query(`alter table dibs.${table} set (autovacuum_enabled = false)`);
        await prelude(client);
        for (const mode of MODES)
          for (const [name, { parameters }] of Object.entries(statements)) {
            const statement = await prepare(client, name as StatementName, mode);
            // The first run makes the generic plan, and the connection keeps it.
            await statement.plan(parameters as never);
            kept.set(`${name} ${mode}`, statement);
          }
        await makeQueues(client);
      });
      afterAll(async () => {
        await client.end();
        await database.drop();
      });

      function judge(name: string, plan: PlanNode, rows: number): void {
        const drawn = `${name}\n${outline(plan)}`;
        expect(wholeScans(plan, TABLES, FIRST), drawn).toEqual([]);
        expect(rowsRead(plan, TABLES), drawn).toBeLessThanOrEqual(rows);
      }
      async function judgeAll(): Promise<void> {
        for (const mode of MODES)
          for (const [name, { parameters, rows }] of Object.entries(statements)) {
            const statement = kept.get(`${name} ${mode}`) as Awaited<ReturnType<typeof prepare>>;
            judge(`${name} ${mode}`, await statement.run(parameters as never), rows);
          }
      }

      test('each statement of a relocation reads the rows of its queue, and no others', judgeAll);

      test('COPY reads the jobs of the queue that leaves, and no others', async () => {
        const [, select] = /copy \((.+)\) to stdout/s.exec(readSql('relocation/jobs_out.sql')) ?? [];
        await client.query(`select set_config('dibs.leaving', '950', false)`);
        const { rows } = await client.query(`explain (analyze, format json) ${select}`);
        judge('jobs_out', rows[0]['QUERY PLAN'][0].Plan, OF_QUEUE);
      });

      test('also after it was analyzed', async () => {
        await client.query('analyze dibs.jobs, dibs.relocating_jobs, dibs.unique_windows');
        await judgeAll();
      });
    });
});
