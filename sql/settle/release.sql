-- Gives jobs back unworked. The attempt is not charged. On groups and :late, see nack.sql.
-- The ids ascend: see shared/batch_by_id.sql.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])] > 0 then 'scheduled'
    when j.group_key is not null and not j.is_head then 'blocked'
    else 'ready'
  end)::dibs.job_state,
  is_head = j.is_head and not j.cancel_requested,
  attempt = greatest(j.attempt - 1, 0),
  position = (:positions::bigint[])[width_bucket(j.id, :ids::uuid[])],
  run_at = case
    when j.cancel_requested then j.run_at
    else now() + interval '1 second' * (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])]
  end,
  finished_at = case when j.cancel_requested then now() end,
  lease_token = null,
  lease_expires_at = null,
  worker = null
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
  and (j.state <> 'dead' or j.unique_key is null or :late)
returning
  j.state, j.finished_at, j.result, j.awaited_until > now() as awaited,
  -- include shared/job_columns.sql
;
