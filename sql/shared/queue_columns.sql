-- The columns of a queue.
id, name, paused, fair, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds, created_at,
max_leased, rate_jobs, rate_seconds, max_ready, alert_after_seconds, dead_letter_queue,
group_concurrency, group_batches, is_narrowing
