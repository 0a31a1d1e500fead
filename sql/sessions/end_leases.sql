-- Takes back leases of one queue whose sessions have ended, as maintenance/rescue.sql does when their time is over. The
-- new token keeps the worker from settling: it was told that its session would end.
-- Leaves a job alone that is being settled or extended at this moment. The next look finds it, if it is still leased.
-- The ids ascend: see shared/batch_by_id.sql.
with lost as materialized (
  select j.id
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
    and j.state = 'leased'
    and j.session_id = any (array(select id from dibs.sessions where ended))
  for update skip locked
)
update dibs.jobs j
set
  last_error = 'connection lost',
  lease_token = case when not j.cancel_requested then gen_random_uuid() end,
  -- include shared/lease_over.sql
where j.queue_id = :queue_id
  and j.id = any (array(select id from lost))
  and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited,
  -- include shared/is_keyless.sql
;
