-- Finds waiting jobs whose time is over (`expires_at`), as due_leases.sql finds leases.
with page as materialized (
  select queue_id, id, expires_at as at
  from dibs.jobs
  where state in ('scheduled', 'ready', 'blocked')
    and expires_at <= now()
    and (expires_at, queue_id, id) > (:from::timestamptz, :after_queue_id::integer, :after_id::uuid)
  order by expires_at, queue_id, id
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
