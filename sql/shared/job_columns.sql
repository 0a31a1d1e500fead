-- The columns of a job `j` that every answer shows. Each statement adds the others that its answer shows.
-- Generated from src/jobFields.ts by "npm run generate".
j.id, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at, j.group_key as "group",
j.fairness_key, j.unique_key, j.batch_id as "batch", j.lease_expires_at, j.worker, j.last_error, j.headers, j.progress
