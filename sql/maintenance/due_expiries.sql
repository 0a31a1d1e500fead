-- Finds waiting jobs whose time is over (`expires_at`), as due_leases.sql finds leases.
select queue_id, array_agg(id order by expires_at) as ids, (max(max(expires_at)) over ())::text as last
from (
  select queue_id, id, expires_at
  from dibs.jobs
  where state in ('scheduled', 'ready', 'blocked') and expires_at >= :from::timestamptz and expires_at <= now()
  order by expires_at
  limit (select :limit::integer)
) as expired
group by queue_id;
