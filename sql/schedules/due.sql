-- Any 20 schedules with a tick that is due. At random, so that replicas that look at the same moment seldom take hold
-- of the same ones, and those whose job is refused, which stay due, hold up no other.
select name, cron, timezone, next_run_at, revision, job, payload
from dibs.schedules
where next_run_at <= now()
order by random()
limit 20;
