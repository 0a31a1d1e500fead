-- Finds scheduled jobs whose `run_at` has come, in their order of arrival, as due_leases.sql finds leases. Jobs of one
-- time and queue go by their positions: :after_id and `last_id` are positions here.
with page as materialized (
  select queue_id, id, run_at as at, position
  from dibs.jobs
  where state = 'scheduled'
    and run_at <= now()
    and (run_at, queue_id, position) > (:from::timestamptz, :after_queue_id::integer, :after_id::text::bigint)
  order by run_at, queue_id, position
  limit (select :limit::integer)
),
last as materialized (
  select queue_id, position, at from page order by at desc, queue_id desc, position desc limit 1
)
select
  page.queue_id,
  string_agg(page.id::text, ',' order by page.at, page.position) as ids,
  max(last.at)::text as last,
  max(last.queue_id) as last_queue_id,
  max(last.position)::text as last_id
from page
cross join last
group by page.queue_id;
