-- Finds the next :limit leases that ran out, from :from on and behind :after_queue_id and :after_id of that time.
-- :from is the scan horizon at first (src/maintenance/scanHorizon.ts): nothing is due before it.
-- Leaves out leases that were given before :given_from (src/maintenance/rescueGrace.ts).
with page as materialized (
  select queue_id, id, id as place, lease_expires_at as at
  from dibs.jobs
  where state = 'leased'
    and lease_expires_at <= now()
    and coalesce(leased_at, '-infinity') >= :given_from::timestamptz
    and (lease_expires_at, queue_id, id) > (:from::timestamptz, :after_queue_id::integer, :after_id::uuid)
  order by lease_expires_at, queue_id, id
  limit (select :limit::integer)
),
-- include shared/due_page.sql
;
