-- Makes a dead or scheduled job ready, its attempts afresh.
update dibs.jobs
set state = 'ready', position = $3, attempt = 0, run_at = now(), finished_at = null
where queue_id = $1 and id = $2 and state in ('dead', 'scheduled')
returning
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result;
