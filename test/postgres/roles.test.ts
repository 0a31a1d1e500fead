import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statementNames } from '../../scripts/statementTypes.mjs';
import { functions } from '../../src/postgres/functions.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { grant, grantedRoles } from '../../src/postgres/roles.ts';
import { planned } from '../../src/postgres/statements.ts';
import { onServer, openClient } from '../support/database.ts';
import { type DatabaseWithRoles, databaseWithRoles } from '../support/roles.ts';
import type { StatementName } from '../support/statements.ts';
import { until } from '../support/until.ts';

let at: DatabaseWithRoles;
let admin: pg.Client;
beforeAll(async () => {
  at = await databaseWithRoles();
  admin = await openClient(at.url);
});
afterAll(async () => {
  await admin.end();
  await at.drop();
});

/** Everything in the database, system catalogs too, with the privileges that this role has on it. */
const PRIVILEGES = `
  select kind || ' ' || name as object, string_agg(privilege, ', ' order by privilege) as privileges
  from (
    select 'schema' as kind, nspname as name, p as privilege
    from pg_namespace, unnest('{create,usage}'::text[]) p where has_schema_privilege($1, oid, p)
    union all
    select 'table', oid::regclass::text, p
    from pg_class, unnest('{delete,insert,references,select,trigger,truncate,update}'::text[]) p
    where relkind in ('r', 'p', 'v', 'm', 'f') and has_table_privilege($1, oid, p)
    union all
    select 'column of', oid::regclass::text, p
    from pg_class, unnest('{insert,references,select,update}'::text[]) p
    where relkind in ('r', 'p', 'v', 'm', 'f') and has_any_column_privilege($1, oid, p) and not has_table_privilege($1, oid, p)
    union all
    select 'sequence', oid::regclass::text, p
    from pg_class, unnest('{select,update,usage}'::text[]) p where relkind = 'S' and has_sequence_privilege($1, oid, p)
    union all
    select 'function', oid::regproc::text, 'execute' from pg_proc where has_function_privilege($1, oid, 'execute')
    union all
    select 'type', oid::regtype::text, 'usage' from pg_type where has_type_privilege($1, oid, 'usage')
    union all
    select 'language', lanname, 'usage' from pg_language where has_language_privilege($1, oid, 'usage')
    union all
    select 'database', datname, p
    from pg_database, unnest('{connect,create,temporary}'::text[]) p
    where datname = current_database() and has_database_privilege($1, oid, p)
    union all
    select 'tablespace', spcname, 'create' from pg_tablespace where has_tablespace_privilege($1, oid, 'create')
    union all
    select 'foreign data', fdwname, 'usage' from pg_foreign_data_wrapper where has_foreign_data_wrapper_privilege($1, oid, 'usage')
    union all
    select 'server', srvname, 'usage' from pg_foreign_server where has_server_privilege($1, oid, 'usage')
    union all
    select 'large object', oid::text, 'owner' from pg_largeobject_metadata where pg_has_role($1, lomowner, 'usage')
    union all
    select 'role', rolname, 'member' from pg_roles where rolname <> $1 and pg_has_role($1, oid, 'member')
    union all
    select 'attribute', attribute, 'set'
    from pg_roles r, lateral (values ('superuser', rolsuper), ('createrole', rolcreaterole), ('createdb', rolcreatedb),
      ('replication', rolreplication), ('bypassrls', rolbypassrls)) as a (attribute, is_set)
    where rolname = $1 and is_set
  ) as found
  group by kind, name
  order by object`;

type Privileges = Record<string, string>;

async function privilegesOf(role: string): Promise<Privileges> {
  const { rows } = await admin.query<{ object: string; privileges: string }>(PRIVILEGES, [role]);
  return Object.fromEntries(rows.map(({ object, privileges }) => [object, privileges]));
}

/** What a role may do that somebody without any grant may not. */
async function grantedTo(role: string): Promise<Privileges> {
  const everybody = await privilegesOf(at.nobody);
  const all = Object.entries(await privilegesOf(role));
  return Object.fromEntries(all.filter(([object, privileges]) => everybody[object] !== privileges));
}

const ALL = 'delete, insert, select, update';
const SERVES: Privileges = {
  'schema dibs': 'usage',
  'table dibs.access_keys': ALL,
  'table dibs.access_state': 'select, update',
  'table dibs.arrival_marks': ALL,
  'table dibs.audit': ALL,
  'table dibs.batch_ends': ALL,
  'table dibs.batch_followers': ALL,
  'table dibs.batches': ALL,
  'table dibs.claim_limits': ALL,
  'table dibs.claim_log': ALL,
  'table dibs.databases': 'insert, select, update',
  'table dibs.fair_marks': 'delete, select',
  'table dibs.free_queue_ids': 'insert, select, update',
  'table dibs.functions': 'select',
  'table dibs.history': ALL,
  'table dibs.idempotency_keys': ALL,
  'table dibs.jobs': ALL,
  'table dibs.migrations': 'select',
  'table dibs.operation_leases': 'delete, insert, select',
  'table dibs.operations': ALL,
  'table dibs.placement_changes': 'delete, insert, select',
  'table dibs.placements': ALL,
  'table dibs.queues': ALL,
  'table dibs.relay': ALL,
  'table dibs.relay_arrivals': 'insert, select, update',
  'table dibs.relay_parcels': ALL,
  'table dibs.relocating_jobs': 'delete, insert, select',
  'table dibs.relocating_queues': ALL,
  'table dibs.relocations': ALL,
  'table dibs.repeatable_claims': ALL,
  'table dibs.samples': 'delete, insert, select',
  'table dibs.scan_floors': ALL,
  'table dibs.schedules': ALL,
  'table dibs.session_replicas': ALL,
  'table dibs.sessions': ALL,
  'table dibs.this_database': 'select, update',
  'table dibs.totals': ALL,
  'table dibs.unique_windows': ALL,
  'sequence dibs.positions': 'select, usage',
  'sequence dibs.queue_ids': 'select',
  'function dibs.adopt': 'execute',
  'function dibs.backoff_seconds': 'execute',
  'function dibs.by_index': 'execute',
  'function dibs.cancel_batch': 'execute',
  'function dibs.capacity': 'execute',
  'function dibs.close_batch': 'execute',
  'function dibs.count_batch_end': 'execute',
  'function dibs.count_placements': 'execute',
  'function dibs.dead_letter_header': 'execute',
  'function dibs.dead_letter_headers': 'execute',
  'function dibs.end_batch': 'execute',
  'function dibs.enqueue_follower': 'execute',
  'function dibs.hold_batches': 'execute',
  'function dibs.insert_unique': 'execute',
  'function dibs.is_key_held': 'execute',
  'function dibs.next_queue_id': 'execute',
  'function dibs.place': 'execute',
  'function dibs.refuse_claim': 'execute',
  'function dibs.refuse_key': 'execute',
  'function dibs.refuse_session': 'execute',
  'function dibs.regain_keys': 'execute',
  'function dibs.text_headers': 'execute',
  'function dibs.unfinished_in_batch': 'execute',
};

const sorted = (privileges: Privileges) => Object.entries(privileges).sort();

/** Runs this as a role, with the error code that it ends with. */
async function codeOf(url: string, text: string): Promise<string | undefined> {
  try {
    await onServer(url, text);
    return undefined;
  } catch (error) {
    return (error as pg.DatabaseError).code;
  }
}

describe('a serving role', () => {
  test('may do exactly this, of everything in the database', async () => {
    expect(sorted(await grantedTo(at.serve))).toEqual(sorted(SERVES));
    expect(await privilegesOf(at.nobody)).not.toHaveProperty('schema dibs');
  });

  test('has its line for every table: who adds one adds it to sql/shared/serving_privileges.sql', async () => {
    const { rows } = await admin.query<{ object: string }>(
      `select case relkind when 'S' then 'sequence' else 'table' end || ' ' || oid::regclass::text as object
       from pg_class c
       where relnamespace = 'dibs'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
         -- An insert into a table draws from the sequence of its identity column without a privilege of its own.
         and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')`,
    );
    const missing = rows.map(({ object }) => object).filter((object) => !(object in SERVES));
    expect(missing).toEqual([]);
  });

  test('may grant nothing of it to others', async () => {
    const { rows } = await admin.query(
      `select from pg_class, aclexplode(relacl) where is_grantable and grantee = $1::regrole`,
      [at.serve],
    );
    expect(rows).toEqual([]);
  });

  const refused: Record<string, string[]> = {
    'changes nothing of the schema': [
      'create table dibs.mine ()',
      'create function dibs.mine() returns void language sql as $$$$',
      'create or replace function dibs.refuse_claim() returns boolean language sql as $$select true$$',
      'alter table dibs.jobs add column mine text',
      'alter table dibs.jobs disable trigger all',
      'drop table dibs.jobs',
      'truncate dibs.jobs',
      'create index on dibs.jobs (worker)',
      `create trigger mine before insert on dibs.jobs execute function pg_catalog.suppress_redundant_updates_trigger()`,
      `insert into dibs.migrations (version, name) values (9999, 'mine')`,
      'delete from dibs.migrations',
      `update dibs.functions set checksum = 'mine'`,
      'alter schema dibs rename to mine',
      'drop schema dibs cascade',
      'select dibs.enqueue($$q$$)',
    ],
    'makes nothing of its own': [
      'create schema mine',
      'create table public.mine ()',
      'create temp table mine ()',
      'create database mine',
      'create role mine',
      'create foreign data wrapper mine',
      'create publication mine for all tables',
    ],
    'reaches nothing outside the database': [
      `copy dibs.jobs to program 'cat'`,
      `copy dibs.jobs from program 'echo'`,
      `copy dibs.jobs to '/tmp/dibs-mine'`,
      `select pg_read_file('/etc/passwd')`,
      `select pg_ls_dir('.')`,
      `select lo_import('/etc/passwd')`,
      `load '/tmp/mine.so'`,
    ],
    'reads no secrets and takes no other role': [
      'select * from pg_authid',
      'select * from pg_shadow',
      'select * from pg_user_mapping',
      'alter system set log_statement = $$all$$',
      'set session_replication_role = replica',
      'alter role current_user superuser',
    ],
  };
  test.each(Object.entries(refused))('%s', async (_, statements) => {
    for (const text of statements) {
      expect(await codeOf(at.urlAs('serve'), text), text).toBe('42501');
    }
    expect(await codeOf(at.urlAs('serve'), `set role ${at.owner}`)).toBe('42501');
  });

  test('reads no other schema', async () => {
    await admin.query(
      'create schema shop; create table shop.orders (id integer); create function shop.f() returns void language sql as $$$$',
    );
    expect(await codeOf(at.urlAs('serve'), 'select * from shop.orders')).toBe('42501');
    expect(await codeOf(at.urlAs('serve'), 'select shop.f()')).toBe('42501');
    expect(sorted(await grantedTo(at.serve))).toEqual(sorted(SERVES));
    await admin.query('drop schema shop cascade');
  });
});

/** Statements that only the owner runs. `dibs import` is the owner's. */
const OF_THE_OWNER =
  /^(embedded\/create|postgres\/(migrations_record|migrations_schema|migrations_table|migrations_oldest|functions_record)|transfer\/(reserve_ids|place|forget_arrivals))$/;

/** What a plan does not show: defaults, and what functions do. */
const CALLS = [
  `insert into dibs.queues (name) values ('two')`,
  'select dibs.capacity(1)',
  `select dibs.is_key_held(1, 'k')`,
  `select dibs.insert_unique(1, array[row(gen_random_uuid(), 0, null, 0, 5, null, '{}', '1', 'k', 60, null, null, null, null)::dibs.new_job])`,
  // A batch that ends with a dead job, and one that is cancelled.
  `do $$ declare batch uuid := gen_random_uuid(); begin
    insert into dibs.batches (id, queue_id) values (batch, 1);
    insert into dibs.batch_followers (batch_id, on_success, queue, delay_seconds, priority, headers, payload)
    select batch, at, 'one', 0, 0, '{}', '1' from unnest('{true, false}'::boolean[]) as at;
    perform dibs.hold_batches(array[batch]);
    perform dibs.insert_unique(1, array[row(batch, 0, null, 0, 5, null, '{}', '1', 'b', null, null, null, null, null)::dibs.new_job], '{}',
      jsonb_build_object(batch, batch));
    perform dibs.close_batch(batch);
    update dibs.jobs set state = 'dead', finished_at = now() where id = batch;
    set constraints all immediate;
    delete from dibs.jobs where id = batch;
    perform dibs.cancel_batch(batch);
  end $$`,
  `do $$ begin
    insert into dibs.databases (name, id) values ('home', gen_random_uuid());
    perform dibs.place(array['three'], null, '{}');
  end $$`,
];

describe('what the serving role may do is what the statements need', () => {
  let isOld = false;
  beforeAll(async () => {
    const { rows } = await admin.query(
      `select current_setting('server_version_num')::integer < 160000 as old`,
    );
    isOld = rows[0].old;
    await admin.query(`insert into dibs.queues (name) values ('one')`);
    await admin.query('update dibs.queues set id = 1');
  });

  // COPY needs what the other statements of a relocation need, and has no plan.
  const names = (statementNames() as StatementName[]).filter(
    (name) => !OF_THE_OWNER.test(name) && !/^relocation\/jobs_(in|out)$/.test(name),
  );
  const texts = names.map((name) => {
    const { text } = planned(name);
    // They have no plan.
    return { name, text: /^(set|lock) /.test(text) ? text : `explain (generic_plan) ${text}` };
  });
  for (const call of CALLS) texts.push({ name: 'counting/counts', text: call });

  /** Whether the serving role may run this. A plan is enough to know. */
  async function mayRun(text: string): Promise<boolean> {
    await admin.query('savepoint attempt');
    await admin.query(`set local role ${at.serve}`);
    const error = await admin.query(text).then(
      () => undefined,
      (error) => error,
    );
    await admin.query('rollback to savepoint attempt');
    if (error && error.code !== '42501') throw new Error(`${text}: ${error.message}`);
    return error === undefined;
  }

  test('it may run every statement of the service', async ({ skip }) => {
    if (isOld) skip('PostgreSQL before 16 explains no statement with parameters');
    expect(names.length).toBeGreaterThan(90);
    await admin.query('begin');
    const refused: string[] = [];
    for (const { name, text } of texts) if (!(await mayRun(text))) refused.push(name);
    await admin.query('rollback');
    expect(refused).toEqual([]);
  });

  test('each privilege is needed: without it, some statement is refused', async ({ skip }) => {
    if (isOld) skip('PostgreSQL before 16 explains no statement with parameters');
    const needless: string[] = [];
    for (const [object, privileges] of Object.entries(SERVES)) {
      const name = object.replace(/.*\./, '');
      const about = texts.filter(({ text }) => object.startsWith('schema') || text.includes(`dibs.${name}`));
      const behind = texts.filter(({ text }) => !about.some((one) => one.text === text));
      for (const privilege of privileges.split(', ')) {
        await admin.query('begin');
        await admin.query(`revoke ${privilege} on ${object} from ${at.serve}`);
        let isNeeded = false;
        for (const { text } of [...about, ...behind]) {
          isNeeded = !(await mayRun(text));
          if (isNeeded) break;
        }
        await admin.query('rollback');
        if (!isNeeded) needless.push(`${privilege} on ${object}`);
      }
    }
    // Other functions call it, and no plan shows that.
    expect(needless).toEqual(['execute on function dibs.text_headers']);
  });

  test('reads headers that PostgreSQL cannot, as a redrive home does', async () => {
    const headers = String.raw`{"odd":"\ud800","dibs-dead-from":"q"}`;
    const url = at.urlAs('serve');
    expect(
      await onServer(url, `select dibs.dead_letter_header('${headers}', 'dibs-dead-from') as queue`),
    ).toEqual([{ queue: 'q' }]);
  });
});

describe('a producer role', () => {
  const PRODUCES: Privileges = { 'schema dibs': 'usage', 'function dibs.enqueue': 'execute' };

  test('may do exactly this, of everything in the database', async () => {
    expect(sorted(await grantedTo(at.produce))).toEqual(sorted(PRODUCES));
  });

  test('enqueues, also with every argument', async () => {
    const url = at.urlAs('produce');
    await onServer(url, `select dibs.enqueue('made', '{"secret":1}')`);
    await onServer(
      url,
      `select dibs.enqueue('made', '1', headers => '{"a":"b"}', priority => 3, delay_seconds => 1, max_attempts => 2,
         backoff => '{"kind":"linear"}', unique_key => 'k', unique_for_seconds => 60, "group" => 'g', fairness_key => 'f',
         expires_in_seconds => 60)`,
    );
    const { rows } = await admin.query(
      `select count(*)::integer as n from dibs.jobs join dibs.queues q on q.id = queue_id where q.name = 'made'`,
    );
    expect(rows).toEqual([{ n: 2 }]);
  });

  test('reads no payload and deletes no job, by whatever way', async () => {
    for (const text of [
      'select payload from dibs.jobs',
      'select * from dibs.queues',
      'select job from dibs.unique_windows',
      'select body from dibs.idempotency_keys',
      'delete from dibs.jobs',
      `update dibs.jobs set priority = 1`,
      'insert into dibs.jobs default values',
      'begin; lock table dibs.jobs',
      'truncate dibs.jobs',
      'copy dibs.jobs to stdout',
      'create temp table copied as table dibs.jobs',
      'create view public.seen as table dibs.jobs',
      `select * from dibs.insert_unique(1, '{}')`,
      'select dibs.capacity(1)',
      `select nextval('dibs.positions')`,
      'create function dibs.f() returns void language sql as $$$$',
      'create or replace function dibs.new_id(integer) returns uuid language sql as $$select null::uuid$$',
      'alter function dibs.enqueue set search_path = public',
      'alter function dibs.enqueue security invoker',
      'select pg_read_file($$/etc/passwd$$)',
      'select * from pg_statistic',
      `set role ${at.owner}`,
    ])
      expect(await codeOf(at.urlAs('produce'), text), text).toBe('42501');
    const seen = await onServer<{ n: number }>(
      at.urlAs('produce'),
      `select count(*)::integer as n from pg_stats where schemaname = 'dibs'`,
    );
    expect(seen).toEqual([{ n: 0 }]);
  });

  test('hears on the channel of the replicas who is ready, and no payload', async () => {
    const client = await openClient(at.urlAs('produce'));
    const heard: (string | undefined)[] = [];
    client.on('notification', ({ payload }) => heard.push(payload));
    await client.query('listen dibs');
    await onServer(at.urlAs('produce'), `select dibs.enqueue('heard', '"classified"')`);
    await until(() => heard.length > 0);
    await client.end();
    expect(heard.join()).not.toContain('classified');
  });

  test('changes nothing by what it sets in its session', async () => {
    const client = await openClient(at.urlAs('produce'));
    for (const setting of [
      `search_path = 'pg_temp, public'`,
      `dibs.marked = 'nonsense'`,
      'enable_seqscan = on',
      `datestyle = 'German'`,
      `role = 'none'`,
    ])
      await client.query(`set ${setting}`);
    // Its own call fails by its own setting, and nothing else happens.
    await expect(client.query(`select dibs.enqueue('set', '1')`)).rejects.toMatchObject({ code: '22P02' });
    await client.query('reset dibs.marked');
    await client.query(`select dibs.enqueue('set', '1')`);
    await client.end();
  });
});

describe('grants last', () => {
  const may = async (role: string, privilege: string) => {
    const { rows } = await admin.query(`select has_table_privilege($1, 'dibs.queues', $2) as may`, [
      role,
      privilege,
    ]);
    return rows[0].may;
  };

  test('the next migration gives a serving role what is new, and PUBLIC nothing', async () => {
    await admin.query(`revoke all on dibs.queues from ${at.serve}`);
    await admin.query(`grant execute on function dibs.new_id to public`);
    await admin.query('grant usage on type dibs.new_job to public');
    await migrate(at.urlAs('owner'));
    expect(sorted(await grantedTo(at.serve))).toEqual(sorted(SERVES));
    const everybody = Object.keys(await privilegesOf(at.nobody)).filter((object) => object.includes('dibs.'));
    // Types of rows and of arrays cannot be taken away: they follow the tables and the types of their items.
    expect(everybody.filter((object) => !/^type dibs\.\w+(\[\])?$/.test(object))).toEqual([]);
    expect(everybody).not.toContain('type dibs.new_job');
    expect(everybody).not.toContain('type dibs.job_state');
  });

  test('a producer role keeps its right when a migration drops dibs.enqueue and makes another', async () => {
    const client = await openClient(at.urlAs('owner'));
    await client.query('begin');
    const held = await grantedRoles(client);
    await client.query('drop function dibs.enqueue');
    await client.query(functions.find(({ name }) => name === 'enqueue')?.text as string);
    await grant(client, held);
    await client.query('commit');
    await client.end();
    expect(held).toEqual({ serve: [at.serve], produce: [at.produce] });
    expect(await codeOf(at.urlAs('produce'), `select dibs.enqueue('q')`)).toBeUndefined();
  });

  test('and a migrate that changes nothing touches no catalog: no replica plans anew', async () => {
    const versions = async () =>
      (
        await admin.query(
          `select oid, xmin::text from pg_class where relnamespace = 'dibs'::regnamespace
           union all select oid, xmin::text from pg_proc where pronamespace = 'dibs'::regnamespace
           union all select oid, xmin::text from pg_type where typnamespace = 'dibs'::regnamespace
           union all select oid, xmin::text from pg_namespace where nspname = 'dibs'
           order by oid`,
        )
      ).rows;
    const before = await versions();
    await migrate(at.urlAs('owner'), { serve: [at.serve], produce: [at.produce] });
    expect(await versions()).toEqual(before);
  });

  test('until somebody revokes them: then no migration gives them back', async () => {
    for (const kind of ['tables', 'sequences', 'functions'])
      await onServer(at.urlAs('owner'), `revoke all on all ${kind} in schema dibs from ${at.serve}`);
    await migrate(at.urlAs('owner'));
    expect(await may(at.serve, 'select')).toBe(false);
    await migrate(at.urlAs('owner'), { serve: [at.serve], produce: [] });
    expect(sorted(await grantedTo(at.serve))).toEqual(sorted(SERVES));
  });

  test('a role of one database has no rights in another', async () => {
    const other = await databaseWithRoles();
    try {
      expect(await codeOf(asOther(other.url, at.serve), 'select')).toBe('42501');
      await onServer(
        other.url,
        `grant connect on database ${new URL(other.url).pathname.slice(1)} to ${at.serve}`,
      );
      expect(await codeOf(asOther(other.url, at.serve), 'select from dibs.jobs')).toBe('42501');
    } finally {
      await other.drop();
    }
  });
});

const asOther = (url: string, role: string) => {
  const changed = new URL(url);
  changed.username = role;
  changed.password = role;
  return changed.href;
};

test('whoever migrates, a superuser too, makes objects of the owner', async () => {
  await onServer(at.url, `delete from dibs.functions where name in ('enqueue', 'new_id')`);
  await migrate(at.url);
  const { rows } = await admin.query(
    `select proname as name from pg_proc where pronamespace = 'dibs'::regnamespace and proowner <> $1::regrole
     union all
     select relname from pg_class where relnamespace = 'dibs'::regnamespace and relowner <> $1::regrole`,
    [at.owner],
  );
  expect(rows).toEqual([]);
});

test('one role becomes two: the owner takes the schema, and the role goes on serving with less', async () => {
  const one = await databaseWithRoles();
  try {
    // As it was: the role of the service has made everything.
    for (const statement of [
      `grant create on database ${new URL(one.url).pathname.slice(1)} to ${one.nobody}`,
      'drop schema dibs cascade',
    ])
      await onServer(one.url, statement);
    await migrate(one.urlAs('nobody'));
    await onServer(one.url, `reassign owned by ${one.nobody} to ${one.owner}`);
    await onServer(
      one.url,
      `revoke create on database ${new URL(one.url).pathname.slice(1)} from ${one.nobody}`,
    );
    await migrate(one.urlAs('owner'), { serve: [one.nobody], produce: [] });
    expect(await codeOf(one.urlAs('nobody'), 'alter table dibs.jobs add column mine text')).toBe('42501');
    expect(await codeOf(one.urlAs('nobody'), 'select from dibs.jobs')).toBeUndefined();
  } finally {
    await one.drop();
  }
});

test('an owner who was given the schema, and may create none, migrates; so does a superuser for that owner', async () => {
  const given = await databaseWithRoles();
  try {
    await onServer(given.url, 'drop schema dibs cascade');
    await onServer(given.url, `create schema dibs authorization ${given.nobody}`);
    await migrate(given.urlAs('nobody'), { serve: [given.serve], produce: [] });
    expect(await migrate(given.url)).toEqual([]);
    expect(await codeOf(given.urlAs('serve'), 'select from dibs.jobs')).toBeUndefined();
  } finally {
    await given.drop();
  }
});
