-- The first 1000 scheduled jobs that are due, by queue, in their order of arrival.
select queue_id, array_agg(id order by run_at, position) as ids
from (
  select queue_id, id, run_at, position
  from dibs.jobs
  where state = 'scheduled' and run_at <= now()
  order by run_at, queue_id, position
  limit 1000
) as arrived
group by queue_id;
