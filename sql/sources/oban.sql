-- The jobs of Oban, as an import takes them: see pg_boss.sql. Oban's priority 0 comes first. Its times are in UTC.
-- Its errors are an array of JSON in the Oban of Elixir, and a JSON array in that of Python.
select
  id::text as source_id,
  queue,
  state::text as was,
  case
    when state in ('available', 'retryable', 'scheduled')
      then case when scheduled_at at time zone 'UTC' > now() then 'scheduled' else 'ready' end
    when state = 'discarded' then 'dead'
  end as becomes,
  greatest(-100, - priority) as priority,
  attempt::integer as attempt,
  max_attempts::integer as max_attempts,
  scheduled_at at time zone 'UTC' as run_at,
  inserted_at at time zone 'UTC' as created_at,
  to_jsonb(errors) -> -1 ->> 'error' as last_error,
  jsonb_build_object(
    'oban-worker', worker,
    'oban-tags', nullif(array_to_string(tags, ','), ''),
    'oban-meta', nullif(meta, '{}')::text
  ) as headers,
  args::text as payload
from oban_jobs
