-- What is told of a job that has not arrived yet.
queue, moved, created_at,
(job).run_at, (job).delay_seconds, (job).priority, (job).max_attempts, (job).headers, (job).payload, (job).unique_key,
(job).group_key as "group", (job).fairness_key
