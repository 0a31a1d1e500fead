-- Makes a dead or scheduled job ready, its attempts afresh; one of a group is blocked, unless it is the head.
-- One whose time is over is given all the time it needs.
-- Its unique key may be held by a transaction that somebody keeps open.
with bounds as materialized (
  select set_config('lock_timeout', '2s', true)
)
update dibs.jobs
set
  state = (case when group_key is null or is_head then 'ready' else 'blocked' end)::dibs.job_state,
  position = $3,
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when expires_at > now() then expires_at end
from bounds
where queue_id = $1 and id = $2 and state in ('dead', 'scheduled')
returning
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result;
