-- The columns of exported_columns.sql and their types, as they stand in a line.
-- Generated from src/jobFields.ts by "npm run generate".
priority smallint, attempt integer, max_attempts integer, deliveries integer, run_at timestamptz,
created_at timestamptz, group_key text, fairness_key text, unique_key text, lease_expires_at timestamptz, worker text,
last_error text, headers text, progress text, state dibs.job_state, finished_at timestamptz, result text, payload text,
is_head boolean, head_place smallint, own_key text, is_paused boolean, backoff text, expires_at timestamptz,
lease_token uuid, leased_at timestamptz, cancel_requested boolean, enqueued text
