-- The jobs of River, as an import takes them: see pg_boss.sql. River's priorities are 1 to 4, and 1 comes first.
select
  id::text as source_id,
  queue,
  state::text as was,
  case
    when state in ('available', 'retryable', 'scheduled')
      then case when scheduled_at > now() then 'scheduled' else 'ready' end
    when state = 'discarded' then 'dead'
  end as becomes,
  1 - priority as priority,
  attempt::integer as attempt,
  max_attempts::integer as max_attempts,
  scheduled_at as run_at,
  created_at,
  errors[cardinality(errors)] ->> 'error' as last_error,
  jsonb_build_object(
    'river-kind', kind,
    'river-tags', nullif(array_to_string(tags, ','), ''),
    'river-metadata', nullif(metadata, '{}')::text
  ) as headers,
  coalesce(args, 'null')::text as payload
from river_job
