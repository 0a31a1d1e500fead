-- Makes a dead or scheduled job ready, its attempts afresh; one of a group is blocked, unless it is the head.
-- One whose time is over is given all the time it needs.
update dibs.jobs
set
  state = (case when group_key is null or is_head then 'ready' else 'blocked' end)::dibs.job_state,
  position = $3,
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when expires_at > now() then expires_at end
where queue_id = $1 and id = $2 and state in ('dead', 'scheduled')
returning
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result;
