-- Whether this role may migrate: it owns the schema, or may create it.
select
  current_user::text as role,
  owner.rolname::text as owner,
  coalesce(
    pg_has_role(dibs.nspowner, 'usage'),
    has_database_privilege(current_database(), 'create')
  ) as may_migrate,
  exists (
    select from pg_class where relnamespace = dibs.oid and relname = 'migrations'
  ) as has_migrations,
  exists (
    select
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = dibs.oid and c.relname = 'migrations' and a.attname = 'oldest' and not a.attisdropped
  ) as has_oldest,
  case when dibs.oid is not null then has_schema_privilege(dibs.oid, 'usage') end as may_use
from (select) as one
left join pg_namespace as dibs on dibs.nspname = 'dibs'
left join pg_roles as owner on owner.oid = dibs.nspowner;
