-- The columns of a job as an export has them. JSON goes as a text.
-- Generated from src/jobFields.ts by "npm run generate".
priority, attempt, max_attempts, deliveries, run_at, created_at, group_key, fairness_key, unique_key, lease_expires_at,
worker, last_error, headers::text as headers, progress::text as progress, state, finished_at, result::text as result,
payload::text as payload, is_head, head_place, own_key, is_paused, backoff::text as backoff, expires_at, lease_token,
leased_at, cancel_requested, enqueued::text as enqueued
