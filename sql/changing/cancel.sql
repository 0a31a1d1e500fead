-- Cancels a job that waits or is dead. A leased job stays leased: its worker is asked to stop.
update dibs.jobs j
set
  -- include shared/cancelled.sql
where queue_id = :queue_id
  and id = :id
  and state in ('scheduled', 'ready', 'blocked', 'leased', 'dead')
returning
  j.state, j.finished_at, j.result, j.awaited_until > now() as awaited,
  -- include shared/job_columns.sql
;
