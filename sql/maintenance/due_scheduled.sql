-- Finds scheduled jobs whose `run_at` has come, in their order of arrival, as due_leases.sql finds leases.
select queue_id, array_agg(id order by run_at, position) as ids, (max(max(run_at)) over ())::text as last
from (
  select queue_id, id, run_at, position
  from dibs.jobs
  where state = 'scheduled' and run_at >= :from::timestamptz and run_at <= now()
  order by run_at, queue_id, position
  limit (select :limit::integer)
) as arrived
group by queue_id;
