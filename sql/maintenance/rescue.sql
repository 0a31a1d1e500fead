-- Takes back leases of one queue that ran out. Each job gets the position beside its id.
-- Leaves leases alone that were given before :given_from (src/maintenance/rescueGrace.ts).
-- Leaves a job alone that is being settled or extended at this moment. The lock checks again that the lease ran out.
-- The ids ascend: see shared/batch_by_id.sql.
with expired as materialized (
  select j.id
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
    and j.lease_expires_at <= now()
    and coalesce(j.leased_at, '-infinity') >= :given_from::timestamptz
  for update skip locked
)
update dibs.jobs j
set
  last_error = 'lease expired',
  lease_token = case when not j.cancel_requested then j.lease_token end,
  -- include shared/lease_over.sql
where j.queue_id = :queue_id
  and j.id = any (array(select id from expired))
  and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited,
  -- include shared/is_keyless.sql
;
