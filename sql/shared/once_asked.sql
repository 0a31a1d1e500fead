-- The jobs of requests with an Idempotency-Key, what is decided about each, and the place `n` of its request in the arrays. And
-- the moment, as an answer writes it.
asked as materialized (
  select
    new.*, null::bigint as position,
    (:routes::text[])[n] as route,
    (:keys::text[])[n] as key,
    n,
    -- include shared/new_job_state.sql
    as state,
    to_char(greatest(due.run_at, now()) at time zone 'UTC',
      -- include shared/answered_time.sql
    ) as answered_run_at
  from
  -- include shared/new_jobs.sql
  cross join lateral (
    select width_bucket(new.id, :firsts::uuid[]) as n
  ) as place
  cross join lateral (
    select
      -- include shared/new_job_due.sql
  ) as due
),
moment as materialized (
  select
    to_char(now() at time zone 'UTC',
      -- include shared/answered_time.sql
    ) as created_at
)
