-- Creates a schedule, or replaces it whole, but for when it ran last. A tick that is due but not taken yet outlives a
-- replacement by the same cron: whoever puts its schedules at each start would lose one now and then.
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
  revision = excluded.revision
returning name, cron, timezone, paused, job, payload, next_run_at, last_run_at;
