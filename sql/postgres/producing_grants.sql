-- The commands that give a role what it needs to call dibs.enqueue, and nothing else.
select command
from unnest(array['grant usage on schema dibs to %I', 'grant execute on function dibs.enqueue to %I']) as template
cross join format(template, :role::text) as command;
