import { beforeAll, expect, test } from 'vitest';
import { createDatabase, onServer, SERVING_ROLE } from '../support/database.ts';
import { lifecycle } from '../support/lifecycle.ts';
import { madeUpPid } from '../support/madeUpPid.ts';
import { startService } from '../support/service.ts';

/** Defaults of sessions that would change what Dibs reads, writes or waits for. */
const ODD: [string, string][] = [
  ['datestyle', "'German, DMY'"],
  ['datestyle', "'SQL, DMY'"],
  ['timezone', "'Asia/Kolkata'"],
  ['array_nulls', 'off'],
  ['standard_conforming_strings', 'off'],
  ['extra_float_digits', "'-15'"],
  ['search_path', 'odd, pg_catalog'],
  ['default_transaction_isolation', "'serializable'"],
  ['statement_timeout', "'250ms'"],
  ['lock_timeout', "'1ms'"],
  ['idle_in_transaction_session_timeout', "'1ms'"],
  ['enable_indexscan', 'off'],
  ['plan_cache_mode', "'force_generic_plan'"],
  ['synchronous_commit', 'off'],
];

/** Others. A pooler itself has to do with the last one. */
const HARMLESS: [string, string][] = [
  ['datestyle', "'Postgres, MDY'"],
  ['intervalstyle', "'sql_standard'"],
  ['bytea_output', "'escape'"],
  ['backslash_quote', 'off'],
  ['quote_all_identifiers', 'on'],
  ['transform_null_equals', 'on'],
  ['client_encoding', "'LATIN1'"],
  ['default_transaction_isolation', "'repeatable read'"],
  ['default_transaction_deferrable', 'on'],
  ['row_security', 'off'],
  ['enable_nestloop', 'off'],
  ['jit_above_cost', '0'],
  ['plan_cache_mode', "'force_custom_plan'"],
  ['client_min_messages', "'debug1'"],
  ['work_mem', "'64kB'"],
  ['idle_session_timeout', "'20ms'"],
];

/** Puts functions of its own before those of PostgreSQL, as some extensions do. */
const SHADOW = `
  create schema odd;
  create function odd.now() returns timestamptz language sql as $$select 'epoch'::timestamptz$$;
  create function odd.clock_timestamp() returns timestamptz language sql as $$select 'epoch'::timestamptz$$;
  create function odd.encode(bytea, text) returns text language sql as $$select 'odd'$$;
  create function odd.cardinality(anyarray) returns integer language sql as $$select 0$$;
  grant usage on schema odd to public`;

let usual: unknown;
beforeAll(async () => {
  const service = await startService();
  usual = await lifecycle(service, service.databaseUrl);
  await service.stop();
});

async function withDefault(name: string, value: string, scope: 'database' | 'role') {
  const database = await createDatabase();
  const at = new URL(database.url).pathname.slice(1);
  await onServer(database.url, SHADOW);
  const of = scope === 'role' ? `role ${SERVING_ROLE} in database ${at}` : `database ${at}`;
  await onServer(database.url, `alter ${of} set ${name} = ${value}`);
  return database;
}

async function answersAsUsual(databaseUrl: string, servingUrl: string): Promise<void> {
  const service = await startService({ databaseUrl: servingUrl });
  expect(await lifecycle(service, databaseUrl)).toEqual(usual);
  expect(service.errors).toEqual([]);
  await service.stop();
}

test.each([...ODD, ...HARMLESS])(
  'Dibs and dibs.enqueue answer as usual where the database has the default %s = %s',
  async (name, value) => {
    const database = await withDefault(name, value, 'database');
    await answersAsUsual(database.url, database.url);
    await database.drop();
  },
);

test.each(ODD)(
  'Dibs answers as usual behind a pooler where its role has the default %s = %s',
  async (name, value) => {
    const database = await withDefault(name, value, 'role');
    const pooler = await madeUpPid(database.url);
    await answersAsUsual(database.url, pooler.url);
    pooler.close();
    await database.drop();
  },
);
