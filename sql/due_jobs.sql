-- Which queues have scheduled jobs that are due, within the first 1000 of them. Nothing is due up to $1 (src/duties/horizon.ts).
select queue_id, count(*)::integer as due
from (
  select queue_id
  from dibs.jobs
  where state = 'scheduled' and run_at > $1::timestamptz and run_at <= now()
  order by run_at
  limit 1000
) as arrived
group by queue_id;
