-- The commands that take from PUBLIC what PostgreSQL gives it with each new function and type. The function that users call
-- is left out: its file revokes it, and users may grant it to PUBLIC.
select format('revoke all on %s %s from public', object.kind, object.name) as command
from (
  select 'function' as kind, oid::regprocedure::text as name, coalesce(proacl, acldefault('f', proowner)) as acl
  from pg_proc
  where pronamespace = 'dibs'::regnamespace and proname <> 'enqueue'
  union all
  select 'type', oid::regtype::text, coalesce(typacl, acldefault('T', typowner))
  from pg_type
  where typnamespace = 'dibs'::regnamespace and typtype in ('c', 'e') and typcategory <> 'A'
    and (typrelid = 0 or (select relkind from pg_class where oid = typrelid) = 'c')
) as object
where exists (select from aclexplode(object.acl) where grantee = 0);
