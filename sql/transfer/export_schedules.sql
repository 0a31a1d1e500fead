-- A line for each schedule.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'schedule' as kind, name, cron, timezone, paused, job::text as job, payload::text as payload, next_run_at, last_run_at
  from dibs.schedules
  order by name
) as line;
