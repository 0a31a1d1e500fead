-- The commands that give a role what it lacks to call dibs.enqueue, which is all that it may.
select format('grant %s to %I', needed.what, role.rolname) as command
from pg_roles as role
cross join lateral (
  values
    ('usage on schema dibs', has_schema_privilege(role.oid, 'dibs', 'usage')),
    (
      'execute on function dibs.enqueue',
      has_function_privilege(
        role.oid,
        (select oid from pg_proc where pronamespace = 'dibs'::regnamespace and proname = 'enqueue'),
        'execute'
      )
    )
) as needed (what, has)
where role.rolname = :role and not needed.has;
