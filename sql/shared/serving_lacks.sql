-- What each role lacks of the privileges that `dibs serve` needs. What is not in the database any more, nobody lacks.
select role.rolname as role, needed.kind, needed.name, privilege
from pg_roles as role
cross join (
  -- include shared/serving_privileges.sql
) as needed
cross join unnest(string_to_array(needed.privileges, ', ')) as privilege
left join pg_namespace as dibs on dibs.nspname = 'dibs'
left join pg_class as relation on relation.relnamespace = dibs.oid and relation.relname = needed.name
left join pg_proc as function on function.pronamespace = dibs.oid and function.proname = needed.name
where not case needed.kind
  when 'schema' then has_schema_privilege(role.oid, dibs.oid, privilege)
  when 'table' then has_table_privilege(role.oid, relation.oid, privilege)
  when 'sequence' then has_sequence_privilege(role.oid, relation.oid, privilege)
  else has_function_privilege(role.oid, function.oid, privilege)
end
