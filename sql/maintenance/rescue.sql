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
  state = (case
    when j.cancel_requested then 'cancelled'
    when j.attempt >= j.max_attempts then 'dead'
    when
      -- include shared/may_be_ready.sql of=j
      then 'ready'
    else 'blocked'
  end)::dibs.job_state,
  is_head = j.is_head and j.head_place > 0 and not j.cancel_requested and j.attempt < j.max_attempts,
  position = (:positions::bigint[])[width_bucket(j.id, :ids::uuid[])],
  run_at = case when j.cancel_requested or j.attempt >= j.max_attempts then j.run_at else now() end,
  finished_at = case when j.cancel_requested or j.attempt >= j.max_attempts then now() end,
  last_error = 'lease expired',
  lease_token = case when not j.cancel_requested then j.lease_token end,
  lease_expires_at = null,
  worker = null
where j.queue_id = :queue_id
  and j.id = any (array(select id from expired))
  and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited,
  -- include shared/is_keyless.sql
;
