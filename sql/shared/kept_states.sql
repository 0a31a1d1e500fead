-- The states in which jobs are kept for a time, and the seconds of it, for the queue q.
values
  ('completed'::dibs.job_state, q.retention_seconds),
  ('cancelled'::dibs.job_state, q.retention_seconds),
  ('dead'::dibs.job_state, q.dead_retention_seconds)
