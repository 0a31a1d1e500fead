-- The first :limit expired leases from :from on, by queue, in the order in which they expired, and when the last of them did:
-- the caller goes on from there, past those it dealt with. Nothing is due before :from (src/duties/horizon.ts).
select queue_id, array_agg(id order by lease_expires_at) as ids, (max(max(lease_expires_at)) over ())::text as last
from (
  select queue_id, id, lease_expires_at
  from dibs.jobs
  where state = 'leased' and lease_expires_at >= :from::timestamptz and lease_expires_at <= now()
  order by lease_expires_at
  limit (select :limit::integer)
) as expired
group by queue_id;
