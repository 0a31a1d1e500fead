-- Begins a change of keys: tells all replicas at the commit. Changes come one after the other, because each locks this row.
with changed as (
  update dibs.access_state
  set version = gen_random_uuid(), has_had_keys = has_had_keys or :creates::boolean
  returning version
)
select pg_notify('dibs', 'keys sql')::text as sent
from changed;
