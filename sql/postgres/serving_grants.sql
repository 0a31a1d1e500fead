-- The commands that give a role what it lacks to serve.
select
  case kind
    when 'schema' then format('grant %s on schema dibs to %I', privilege, role)
    else format('grant %s on %s dibs.%I to %I', privilege, kind, name, role)
  end as command
from (
  -- include shared/serving_lacks.sql
) as lacks
where role = :role;
