import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PAYLOAD, READY } from './jobs.mjs';
import { query } from './postgres.mjs';
import { run } from './wrk.mjs';

/** A table that a developer would write for a queue in PostgreSQL, with its index. */
const SCHEMA = `
  create table jobs (
    id bigint generated always as identity primary key,
    queue integer not null,
    priority integer not null default 0,
    state text not null default 'ready',
    leased_until timestamptz,
    created_at timestamptz not null default now(),
    payload json not null
  );
  create index jobs_ready on jobs (queue, priority desc, id) where state = 'ready';
`;

const CYCLE = `
insert into jobs (queue, payload) values (1, :payload);
update jobs set state = 'leased', leased_until = now() + interval '30 seconds'
  where id = (select id from jobs where queue = 1 and state = 'ready' order by priority desc, id limit 1
    for update skip locked)
  returning id, payload as body \\gset
delete from jobs where id = :id;
`;

const INSERT = 'insert into jobs (queue, payload) values (1, :payload);';

const batches = (n) => `
insert into jobs (queue, payload) select 1, p::json from unnest(:payloads::text[]) as p;
with claimed as (
  update jobs set state = 'leased', leased_until = now() + interval '30 seconds'
  where id = any (array(select id from jobs where queue = 1 and state = 'ready' order by priority desc, id limit ${n}
    for update skip locked))
  returning id, payload
) select coalesce(array_agg(id), '{}')::text as ids, coalesce(array_agg(payload), '{}')::text as bodies from claimed \\gset
delete from jobs where id = any (:ids::bigint[]);
`;

const arrayText = (n) => `{${Array(n).fill(JSON.stringify(PAYLOAD)).join(',')}}`;

/** A database in which pgbench runs the plain statements. Its table has `ready` jobs at first. */
export async function plainQueue(postgres, name, ready = READY) {
  const url = await postgres.database(name);
  await query(url, SCHEMA);
  await query(
    url,
    'insert into jobs (queue, payload) select 1, $1::json from generate_series(1, $2::integer)',
    [PAYLOAD, ready],
  );

  async function pgbench(script, { clients, seconds, variables }) {
    const file = join(postgres.dataDir, `${name}.sql`);
    await writeFile(file, script);
    const defined = Object.entries(variables).flatMap(([key, value]) => ['-D', `${key}=${value}`]);
    // The connection goes through the environment, because the URL holds the password.
    const out = await run(
      'pgbench',
      [
        '-n',
        '-M',
        'prepared',
        '-c',
        clients,
        '-j',
        Math.min(2, clients),
        '-T',
        seconds,
        '-f',
        file,
        ...defined,
      ].map(String),
      { seconds: seconds + 60, env: connectionEnv(url) },
    );
    const tps = Number(/^tps = ([\d.]+)/m.exec(out)?.[1]);
    const count = Number(/transactions actually processed: (\d+)/.exec(out)?.[1]);
    const failed = Number(/failed transactions: (\d+)/.exec(out)?.[1] ?? 0);
    if (!(tps > 0) || failed > 0) throw new Error(`pgbench was not clean:\n${out}`);
    return { tps, count };
  }

  const jobsLeft = async () => (await query(url, 'select count(*)::integer as n from jobs'))[0].n;

  return {
    url,
    /** Cycles a second. Each statement is its own transaction. */
    cycles: async (clients, seconds) =>
      (await pgbench(CYCLE, { clients, seconds, variables: { payload: PAYLOAD } })).tps,

    /** The mean time of an insert by one client, in ms. Each is its own transaction. */
    insertMs: async (seconds) =>
      1000 / (await pgbench(INSERT, { clients: 1, seconds, variables: { payload: PAYLOAD } })).tps,

    /** Jobs a second in batches of n. Deleted jobs count: a claim may find fewer than n unlocked. */
    async batches(clients, seconds, n = 100) {
      const before = await jobsLeft();
      const { tps, count } = await pgbench(batches(n), {
        clients,
        seconds,
        variables: { payloads: arrayText(n) },
      });
      return tps * (n - ((await jobsLeft()) - before) / count);
    },
  };
}

/** The environment for programs that read their connection from it. */
export function connectionEnv(url) {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  };
}
