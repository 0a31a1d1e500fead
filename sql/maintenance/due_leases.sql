-- Finds the next :limit leases that ran out, from :from on and behind :after_queue_id and :after_id of that time: by
-- queue, in the order in which they ran out. `last`, `last_queue_id` and `last_id` tell where the caller goes on.
-- `ids` is a text, because the driver takes 7 µs for each element of an array.
-- :from is the scan horizon at first (src/maintenance/scanHorizon.ts): nothing is due before it.
with page as materialized (
  select queue_id, id, lease_expires_at as at
  from dibs.jobs
  where state = 'leased'
    and lease_expires_at <= now()
    and (lease_expires_at, queue_id, id) > (:from::timestamptz, :after_queue_id::integer, :after_id::uuid)
  order by lease_expires_at, queue_id, id
  limit (select :limit::integer)
),
last as materialized (
  select queue_id, id, at from page order by at desc, queue_id desc, id desc limit 1
)
select
  page.queue_id,
  string_agg(page.id::text, ',' order by page.at, page.id) as ids,
  max(last.at)::text as last,
  max(last.queue_id) as last_queue_id,
  max(last.id::text) as last_id
from page
cross join last
group by page.queue_id;
