-- Creates a schedule, or replaces all of it but the time of its last tick. A tick that was refused is tried again at
-- once. A due tick that is not taken yet outlives a replacement with the same cron. Otherwise a client that puts its
-- schedules at each start would now and then lose one. No row comes back when the name is taken by a schedule that the
-- caller may not see.
insert into dibs.schedules as old (name, cron, timezone, paused, job, payload, next_run_at, revision)
values (:name, :cron, :timezone, :paused, :job, :payload, :next_run_at, :revision)
on conflict (name) do update set
  cron = excluded.cron,
  timezone = excluded.timezone,
  paused = excluded.paused,
  job = excluded.job,
  payload = excluded.payload,
  next_run_at = case
    when not excluded.paused and old.cron = excluded.cron and old.timezone = excluded.timezone
      then least(old.next_run_at, excluded.next_run_at)
    else excluded.next_run_at
  end,
  revision = excluded.revision,
  refusals = 0,
  last_error = null,
  retry_at = null
where :visible::text[] is null or coalesce(old.job ->> 'queue', 'default') like any (:visible)
returning
  -- include shared/schedule_columns.sql
;
