-- What goes into the columns of imported_columns.sql.
-- Generated from src/jobFields.ts by "npm run generate".
priority, attempt, max_attempts, deliveries, run_at, created_at, group_key, fairness_key, unique_key, lease_expires_at,
worker, last_error, headers::json, progress::json, state, finished_at, result::json, payload::json, is_head,
coalesce(head_place, 1), own_key, is_paused, backoff::json, expires_at, lease_token, leased_at, cancel_requested,
enqueued::json
