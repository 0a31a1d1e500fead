-- The jobs of requests with an idempotency key, what is decided about each, and the place `n` of its request in the arrays.
asked as materialized (
  select
    new.*, null::bigint as position, false as is_head, n,
    -- include shared/new_job_state.sql
    as state,
    greatest(due.run_at, now()) as decided_run_at
  from
  -- include shared/new_jobs.sql
  cross join lateral (
    select width_bucket(new.id, :firsts::uuid[]) as n
  ) as place
  cross join lateral (
    select
      -- include shared/new_job_due.sql
  ) as due
)
