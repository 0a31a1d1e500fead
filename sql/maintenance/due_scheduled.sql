-- Finds scheduled jobs whose `run_at` has come, in their order of arrival, as due_leases.sql finds leases. Jobs of one
-- time and queue go by their positions: :after_id and `last_id` are positions here.
with page as materialized (
  select queue_id, id, position as place, run_at as at
  from dibs.jobs
  where state = 'scheduled'
    and run_at <= now()
    and (run_at, queue_id, position) > (:from::timestamptz, :after_queue_id::integer, :after_id::text::bigint)
  order by run_at, queue_id, position
  limit (select :limit::integer)
),
-- include shared/due_page.sql
;
