-- The time of the next tick of all schedules, and the database's time.
select
  now() as now,
  -- include shared/next_tick.sql
  as next_run_at;
