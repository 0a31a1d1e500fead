-- The first 1000 scheduled jobs that are due, by queue, in their order of arrival. Nothing is due up to $1
-- (src/duties/horizon.ts).
select queue_id, array_agg(id order by run_at, position) as ids
from (
  select queue_id, id, run_at, position
  from dibs.jobs
  where state = 'scheduled' and run_at > $1::timestamptz and run_at <= now()
  order by run_at, queue_id, position
  limit (select 1000)
) as arrived
group by queue_id;
