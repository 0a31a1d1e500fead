-- When the next tick of any schedule is, by the database's clock.
select now() as now, (select min(next_run_at) from dibs.schedules) as next_run_at;
