-- The first :limit scheduled jobs from :from on that are due, by queue, in their order of arrival, and when the last of them
-- was: see due_leases.sql.
select queue_id, array_agg(id order by run_at, position) as ids, (max(max(run_at)) over ())::text as last
from (
  select queue_id, id, run_at, position
  from dibs.jobs
  where state = 'scheduled' and run_at >= :from::timestamptz and run_at <= now()
  order by run_at, queue_id, position
  limit (select :limit::integer)
) as arrived
group by queue_id;
