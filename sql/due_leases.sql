-- Which queues have expired leases, within the first 1000 of them. Nothing is due up to $1 (src/duties/horizon.ts).
select queue_id, count(*)::integer as due
from (
  select queue_id
  from dibs.jobs
  where state = 'leased' and lease_expires_at > $1::timestamptz and lease_expires_at <= now()
  order by lease_expires_at
  limit 1000
) as expired
group by queue_id;
