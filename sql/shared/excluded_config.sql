-- The configuration that an insert of a queue brings, where there is the queue already.
lease_seconds = excluded.lease_seconds,
max_attempts = excluded.max_attempts,
backoff = excluded.backoff,
retention_seconds = excluded.retention_seconds,
dead_retention_seconds = excluded.dead_retention_seconds,
max_leased = excluded.max_leased,
rate_jobs = excluded.rate_jobs,
rate_seconds = excluded.rate_seconds,
max_ready = excluded.max_ready,
alert_after_seconds = excluded.alert_after_seconds,
dead_letter_queue = excluded.dead_letter_queue,
is_narrowing = queues.is_narrowing or queues.group_concurrency > excluded.group_concurrency,
group_concurrency = excluded.group_concurrency
