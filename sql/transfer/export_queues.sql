-- A line for each queue.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'queue' as kind, id, name, paused, fair, lease_seconds, max_attempts, backoff::text as backoff, retention_seconds,
    dead_retention_seconds, created_at, max_leased, rate_jobs, rate_seconds, max_ready, alert_after_seconds, dead_letter_queue,
    group_concurrency, is_narrowing, paused_groups
  from dibs.queues
  order by id
) as line;
