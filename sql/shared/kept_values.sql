-- What an idempotency key keeps of a job `j` of the queue :queue that is inserted: the attributes of dibs.kept_job.
-- Generated from src/jobFields.ts by "npm run generate".
j.id, :queue::text, j.state, j.priority, j.attempt, j.max_attempts, j.deliveries, j.group_key, j.fairness_key,
j.unique_key, j.run_at, j.created_at, j.headers::text, j.lease_expires_at, j.finished_at, j.worker, j.last_error,
j.progress::text, j.result::text, null, null
