-- Finds waiting jobs whose time is over (`expires_at`), as due_leases.sql finds leases.
with page as materialized (
  select queue_id, id, id as place, expires_at as at
  from dibs.jobs
  where state in ('scheduled', 'ready', 'blocked')
    and expires_at <= now()
    and (expires_at, queue_id, id) > (:from::timestamptz, :after_queue_id::integer, :after_id::uuid)
  order by expires_at, queue_id, id
  limit (select :limit::integer)
),
-- include shared/due_page.sql
;
