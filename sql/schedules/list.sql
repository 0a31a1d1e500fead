-- A page of schedules by name.
select name, cron, timezone, paused, job, payload, next_run_at, last_run_at
from dibs.schedules
where name > :after
order by name
limit :limit;
