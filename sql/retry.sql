-- Makes a dead or scheduled job ready, its attempts afresh.
-- Its unique key may be held by a transaction that somebody keeps open.
with bounds as materialized (
  select set_config('lock_timeout', '2s', true)
)
update dibs.jobs
set state = 'ready', position = $3, attempt = 0, run_at = now(), finished_at = null
from bounds
where queue_id = $1 and id = $2 and state in ('dead', 'scheduled')
returning
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result;
