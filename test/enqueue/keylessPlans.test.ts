import { expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';

const JOBS = 30_000;

test.each([
  ['never analyzed', ''],
  ['analyzed while empty', 'vacuum analyze dibs.jobs'],
])('the look for jobs without their keys reads none of 30,000 that have them (%s)', async (_, prelude) => {
  const database = await createDatabase();
  const client = await openClient(database.url);
  await client.query('alter table dibs.jobs set (autovacuum_enabled = false)');
  if (prelude) await client.query(prelude);
  await client.query(`insert into dibs.queues (id, name) values (1, 'q')`);
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, unique_key, own_key)
     select 1, (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000001')::uuid, 'ready', now(), 5, 1, 0, '{}', '1', n::text,
       case when n % 2 = 0 then n::text end
     from generate_series(1, ${JOBS}) n`,
  );
  const look = `explain (analyze, buffers, format json)
    select * from dibs.regain_keys(0, '00000000-0000-0000-0000-000000000000')`;
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    await client.query(`set plan_cache_mode = ${mode}`);
    await client.query(look);
    const { rows } = await client.query(look);
    const plan = rows[0]['QUERY PLAN'][0].Plan;
    expect(plan['Actual Rows']).toBe(0);
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], JSON.stringify(plan)).toBeLessThan(20);
  }
  await client.end();
  await database.drop();
});
