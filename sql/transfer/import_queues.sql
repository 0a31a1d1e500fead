-- Makes queues, paused until the import has ended. Until then, their groups get no heads. A queue of the same name that has no
-- jobs takes the configuration.
-- An export of an older Dibs has no alert_after_seconds, dead_letter_queue, group_concurrency,
-- group_batches, is_narrowing and paused_groups.
insert into dibs.queues (
  -- include shared/queue_columns.sql
  , paused_groups, is_importing
)
select
  chosen.to_id, line.name, true, line.fair, line.lease_seconds, line.max_attempts, line.backoff::json, line.retention_seconds,
  line.dead_retention_seconds, line.created_at, line.max_leased, line.rate_jobs, line.rate_seconds, line.max_ready,
  coalesce(line.alert_after_seconds, 300), line.dead_letter_queue, coalesce(line.group_concurrency, 1),
  coalesce(line.group_batches, 1), coalesce(line.is_narrowing, false), coalesce(line.paused_groups, '{}'), true
from json_to_recordset(:lines::json) as line (
  id integer, name text, fair boolean, lease_seconds double precision, max_attempts integer, backoff text,
  retention_seconds double precision, dead_retention_seconds double precision, created_at timestamptz,
  max_leased integer, rate_jobs integer, rate_seconds double precision, max_ready integer,
  alert_after_seconds double precision, dead_letter_queue text, paused_groups text[],
  group_concurrency integer, group_batches integer, is_narrowing boolean
)
join unnest(:from_ids::integer[], :to_ids::integer[]) as chosen (from_id, to_id) on chosen.from_id = line.id
on conflict (id) do update set
  paused = true,
  is_importing = true,
  fair = excluded.fair,
  paused_groups = excluded.paused_groups,
  -- include shared/excluded_config.sql
where queues.name = excluded.name;
