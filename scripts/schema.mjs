// Writes sql/schema.sql, the schema after all migrations, for review. With --check, it only fails if that
// is stale.

import pg from 'pg';
import { writeCurrent } from './current.mjs';
import { withMigrated } from './migrated.mjs';

/** Each query returns a row `sql` for each object, in an order that does not depend on the server. */
const SECTIONS = {
  types: `
    select format('create type %s as enum (%s);', t.oid::regtype,
      (select string_agg(quote_literal(enumlabel), ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid)) as sql
    from pg_type t
    where t.typnamespace = 'dibs'::regnamespace and t.typtype = 'e'
    order by t.typname`,
  'composite types': `
    select format(E'create type %s as (\\n%s\\n);', t.oid::regtype,
      (select string_agg(format('  %I %s', attname, format_type(atttypid, atttypmod)), E',\\n' order by attnum)
       from pg_attribute where attrelid = c.oid and not attisdropped)) as sql
    from pg_type t
    join pg_class c on c.oid = t.typrelid
    where t.typnamespace = 'dibs'::regnamespace and c.relkind = 'c'
    order by t.typname`,
  sequences: `
    select format('create sequence %s as %s start %s increment %s minvalue %s maxvalue %s cache %s%s;',
      s.seqrelid::regclass, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache,
      case when s.seqcycle then ' cycle' else '' end) as sql
    from pg_sequence s
    join pg_class c on c.oid = s.seqrelid
    where c.relnamespace = 'dibs'::regnamespace
    order by c.relname`,
  functions: `
    select rtrim(pg_get_functiondef(p.oid), E'\\n') || ';' as sql
    from pg_proc p
    where p.pronamespace = 'dibs'::regnamespace
    order by p.proname, pg_get_function_identity_arguments(p.oid)`,
  tables: `
    select format(E'create table %s (\\n%s\\n)%s;', c.oid::regclass,
      (select string_agg(line, E',\\n' order by place, line collate "C") from (
        select a.attnum::integer as place,
          format('  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
            case when a.attnotnull then ' not null' else '' end,
            coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) as line
        from pg_attribute a
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        union all
        -- PostgreSQL 18 also lists NOT NULL as a constraint ('n'). It stands beside the column already.
        select 10000, format('  constraint %I %s', conname, pg_get_constraintdef(oid))
        from pg_constraint
        where conrelid = c.oid and contype <> 'n'
      ) as lines),
      coalesce(E'\\nwith (' || array_to_string(c.reloptions, ', ') || ')', '')) as sql
    from pg_class c
    where c.relnamespace = 'dibs'::regnamespace and c.relkind in ('r', 'p')
    order by c.relname`,
  indexes: `
    select pg_get_indexdef(i.indexrelid) || ';' as sql
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = 'dibs'::regnamespace
      and not exists (select from pg_constraint where conindid = i.indexrelid)
    order by c.relname`,
  'views and triggers': `
    select format(E'create view %s as\\n%s', c.oid::regclass, pg_get_viewdef(c.oid)) as sql
    from pg_class c
    where c.relnamespace = 'dibs'::regnamespace and c.relkind in ('v', 'm')
    union all
    select pg_get_triggerdef(t.oid) || ';'
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'dibs'::regnamespace and not t.tgisinternal
    order by sql`,
};

async function dump(url) {
  const client = new pg.Client(url);
  await client.connect();
  const parts = [
    '-- Generated from sql/migrations by "npm run generate", for review: what the migrations amount to, all in one\n' +
      '-- place. It is never run.',
  ];
  for (const [title, text] of Object.entries(SECTIONS)) {
    const { rows } = await client.query(text);
    if (rows.length > 0) parts.push(`-- ${title}`, ...rows.map((row) => row.sql));
  }
  await client.end();
  return `${parts.join('\n\n')}\n`;
}

await withMigrated(async (url) => writeCurrent('sql/schema.sql', await dump(url)));
