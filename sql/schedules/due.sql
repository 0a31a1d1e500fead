-- Returns 20 schedules with a due tick, in random order. So replicas that look at the same moment seldom take the same
-- ones. And a schedule whose job is refused, which stays due, holds up no other.
select name, cron, timezone, next_run_at, revision, job, payload
from dibs.schedules
where next_run_at <= now()
order by random()
limit 20;
