-- Gives jobs back unworked. The attempt is not charged. On groups, see nack.sql, and on :late,
-- shared/may_come_back.sql. The ids ascend: see shared/batch_by_id.sql.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])] > 0 then 'scheduled'
    when
      -- include shared/may_be_ready.sql of=j
      then 'ready'
    else 'blocked'
  end)::dibs.job_state,
  is_head = j.is_head
    and (j.head_place > 0 or (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])] > 0)
    and not j.cancel_requested,
  attempt = greatest(j.attempt - 1, 0),
  position =
    -- include shared/new_position.sql
  ,
  run_at = case
    when j.cancel_requested then j.run_at
    else now() + interval '1 second' * (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])]
  end,
  finished_at = case when j.cancel_requested then now() end,
  -- include shared/give_back.sql
  and (
    -- include shared/may_come_back.sql
  )
returning
  -- include shared/given_back.sql
;
