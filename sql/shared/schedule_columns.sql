-- The columns of a schedule that users see.
name, cron, timezone, paused, job, payload, next_run_at, last_run_at, last_error, retry_at
