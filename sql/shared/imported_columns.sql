-- The columns of exported_columns.sql, as an import inserts them.
-- Generated from src/jobFields.ts by "npm run generate".
priority, attempt, max_attempts, deliveries, run_at, created_at, group_key, fairness_key, unique_key, lease_expires_at,
worker, last_error, headers, progress, state, finished_at, result, payload, is_head, head_place, own_key, is_paused,
backoff, expires_at, lease_token, leased_at, cancel_requested, enqueued
