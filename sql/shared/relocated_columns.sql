-- The columns of a job that a relocation copies: all but the position, which is anew where the jobs arrive.
-- Generated from src/jobFields.ts by "npm run generate".
id, priority, attempt, max_attempts, deliveries, run_at, created_at, group_key, fairness_key, unique_key, batch_id,
lease_expires_at, worker, last_error, headers, progress, queue_id, state, finished_at, result, payload, moved_to,
is_head, head_place, own_key, is_paused, backoff, expires_at, lease_token, leased_at, cancel_requested, enqueued,
payload_bytes, awaited_until, counted, claim_id, claim_holder, lease_seconds, session_id
