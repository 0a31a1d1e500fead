-- Puts in schedules. One of the same name stays as it is.
insert into dibs.schedules (name, cron, timezone, paused, job, payload, next_run_at, last_run_at, revision)
select
  line.name, line.cron, line.timezone, line.paused, line.job::json, line.payload::json, line.next_run_at,
  line.last_run_at, gen_random_uuid()
from json_to_recordset(:lines::json) as line (
  name text, cron text, timezone text, paused boolean, job text, payload text, next_run_at timestamptz,
  last_run_at timestamptz
)
on conflict do nothing
returning name;
