-- The first 1000 expired leases, by queue, in the order in which they expired. Nothing is due up to $1
-- (src/duties/horizon.ts).
select queue_id, array_agg(id order by lease_expires_at) as ids
from (
  select queue_id, id, lease_expires_at
  from dibs.jobs
  where state = 'leased' and lease_expires_at > $1::timestamptz and lease_expires_at <= now()
  order by lease_expires_at
  limit (select 1000)
) as expired
group by queue_id;
