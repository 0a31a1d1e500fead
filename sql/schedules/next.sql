-- The time of the next tick of all schedules, and the database's time.
select now() as now, (select min(next_run_at) from dibs.schedules) as next_run_at;
