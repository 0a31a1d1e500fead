import { expect, test } from 'vitest';
import { functions } from '../../src/postgres/functions.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { makeJobs } from '../support/jobs.ts';
import { buffers, outline, type PlanNode } from '../support/plans.ts';

test('the next migrate makes a function anew whose text has changed, and leaves the others alone', async () => {
  const { url, drop } = await createDatabase();
  const made = () =>
    onServer(
      url,
      `select proname, p.oid::text, p.xmin::text from pg_proc p where pronamespace = 'dibs'::regnamespace order by 1`,
    );
  try {
    const before = await made();
    expect(await migrate(url)).toEqual([]);
    expect(await made()).toEqual(before);
    await onServer(url, `create role dibs_test_granted`);
    await onServer(url, `grant execute on function dibs.new_id to dibs_test_granted`);
    const granted = await made();
    await onServer(url, `update dibs.functions set checksum = 'older' where name = 'new_id'`);
    await onServer(url, `delete from dibs.functions where name = 'enqueue'`);
    await migrate(url);
    const after = await made();
    const changed = after.filter((row, i) => row.xmin !== granted[i]?.xmin).map((row) => row.proname);
    expect(changed).toEqual(['enqueue', 'new_id']);
    expect(after.map((row) => row.oid)).toEqual(before.map((row) => row.oid));
    // A role that may execute it still may.
    const [may] = await onServer(
      url,
      `select has_function_privilege('dibs_test_granted', 'dibs.new_id(integer)', 'execute') as it`,
    );
    expect(may).toEqual({ it: true });
    expect(await onServer(url, 'select name, checksum from dibs.functions order by 1')).toEqual(
      functions.map(({ name, checksum }) => ({ name, checksum })),
    );
  } finally {
    await drop();
    await onServer(url.replace(/[^/]*$/, 'postgres'), 'drop role dibs_test_granted');
  }
});

test('an insert with unique keys reads only what holds these keys, however empty the tables were when it was planned', async () => {
  const { url, drop } = await createDatabase();
  const client = await openClient(url);
  try {
    for (const table of ['jobs', 'unique_windows'])
      await client.query(`alter table dibs.${table} set (autovacuum_enabled = false)`);
    const insert = async (key: string): Promise<PlanNode> => {
      const { rows } = await client.query(
        `explain (format json, analyze, buffers, timing off)
         select * from dibs.insert_unique(1, array[
           row(gen_random_uuid(), 0, null, 0, 5, null, '{}', '1', '${key}', 60, null, null, null, null)::dibs.new_job
         ])`,
      );
      return rows[0]['QUERY PLAN'][0].Plan;
    };
    await client.query(`insert into dibs.queues (id, name) values (1, 'q')`);
    await client.query('vacuum analyze dibs.jobs, dibs.unique_windows');
    for (let i = 0; i < 10; i++) await insert(`early ${i}`);
    const { id } = await makeJobs(client, { jobs: 50_000, state: 'completed' });
    await client.query(`update dibs.jobs set unique_key = 'much used' where state = 'completed'`);
    await client.query(
      `insert into dibs.unique_windows (queue_id, unique_key, until, job_id, job)
       select 1, 'key ' || n, now() + interval '1 hour', $1::uuid, json_build_object('id', $1::uuid, 'unique_key', 'key ' || n)
       from generate_series(1, 50000) n`,
      [id(1)],
    );
    // Measured: 46 for a job that is inserted, 16 and 31 for keys that are held, 1,383 with sequential scans.
    for (const key of ['much used', 'new', 'much used', 'key 25000']) {
      const plan = await insert(key);
      expect(buffers(plan), `${key}: ${outline(plan)}`).toBeLessThan(300);
    }
  } finally {
    await client.end();
    await drop();
  }
});
