-- One job, whole.
select
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result, payload
from dibs.jobs
where queue_id = $1 and id = $2;
