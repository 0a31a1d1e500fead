-- Cancels a job that waits or is dead. A leased job stays leased: its worker is asked to stop.
update dibs.jobs j
set
  state = case when state = 'leased' then state else 'cancelled' end,
  is_head = is_head and state = 'leased',
  cancel_requested = (state = 'leased'),
  finished_at = case when state <> 'leased' then now() end,
  lease_token = case when state = 'leased' then lease_token end
where queue_id = :queue_id
  and id = :id
  and state in ('scheduled', 'ready', 'blocked', 'leased', 'dead')
returning
  j.state, j.finished_at, j.result, j.awaited_until > now() as awaited,
  -- include shared/job_columns.sql
;
