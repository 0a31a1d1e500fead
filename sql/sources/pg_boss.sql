-- The jobs of pg-boss 10 to 12, as an import takes them. `was` is their state there, `becomes` the state here, and null for
-- a job that stays: it is being worked on, is finished, or waits for the jobs of its flow.
-- pg-boss counts retries. The first attempt is not one of them.
-- Older versions have no column `blocked`. There, the name means that of `absent`.
select
  id::text as source_id,
  name as queue,
  state::text || case when is_blocked then ' (blocked)' else '' end as was,
  case
    when is_blocked then null
    when state in ('created', 'retry') then case when start_after > now() then 'scheduled' else 'ready' end
    when state = 'failed' then 'dead'
  end as becomes,
  greatest(-100, least(100, priority)) as priority,
  case when started_on is null then 0 else retry_count + 1 end as attempt,
  retry_limit + 1 as max_attempts,
  start_after as run_at,
  created_on as created_at,
  coalesce(output ->> 'message', output #>> '{}') as last_error,
  jsonb_build_object('pg-boss-singleton-key', singleton_key) as headers,
  coalesce(data, 'null')::text as payload
from (select false as blocked) as absent
cross join lateral (
  select
    id, name, state, blocked as is_blocked, priority, retry_limit, retry_count, start_after, started_on, created_on,
    singleton_key, output, data
  from job
) as job
