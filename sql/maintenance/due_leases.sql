-- Finds the first :limit leases that ran out, from :from on: by queue, in the order in which they ran out. `last` tells
-- when the last of them did. The caller goes on from there, past those that it dealt with.
-- :from is the scan horizon (src/maintenance/scanHorizon.ts): nothing is due before it.
select queue_id, array_agg(id order by lease_expires_at) as ids, (max(max(lease_expires_at)) over ())::text as last
from (
  select queue_id, id, lease_expires_at
  from dibs.jobs
  where state = 'leased' and lease_expires_at >= :from::timestamptz and lease_expires_at <= now()
  order by lease_expires_at
  limit (select :limit::integer)
) as expired
group by queue_id;
