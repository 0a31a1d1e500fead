-- The roles that were given the right to serve, or to produce. The first may insert jobs, the others may execute
-- dibs.enqueue. So the database itself remembers them: by any name, in a dump too, and until somebody revokes it.
select
  role.rolname as role,
  bool_or(held.privilege_type = 'INSERT') as serves,
  bool_or(held.privilege_type = 'EXECUTE') as produces
from (
  select relowner as owner, relacl as acl
  from pg_class
  where relnamespace = (select oid from pg_namespace where nspname = 'dibs') and relname = 'jobs'
  union all
  select proowner, proacl
  from pg_proc
  where pronamespace = (select oid from pg_namespace where nspname = 'dibs') and proname = 'enqueue'
) as object
cross join aclexplode(object.acl) as held
join pg_roles as role on role.oid = held.grantee
where held.grantee <> object.owner and held.privilege_type in ('INSERT', 'EXECUTE')
group by role.rolname
order by role.rolname;
