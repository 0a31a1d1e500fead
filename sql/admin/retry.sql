-- Makes a dead or scheduled job ready, its attempts afresh; one of a group is blocked, unless it is the head.
-- One whose time is over is given all the time it needs.
-- Its unique key may be held by a transaction that somebody keeps open.
update dibs.jobs j
set
  state = (case when group_key is null or is_head then 'ready' else 'blocked' end)::dibs.job_state,
  position = :position,
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when expires_at > now() then expires_at end
where queue_id = :queue_id and id = :id and state in ('dead', 'scheduled')
returning
  j.state, j.finished_at, j.result,
  -- include shared/job_columns.sql
;
