-- Replaces the whole configuration of a queue, and creates the queue when there is none. The update comes first, by itself:
-- an insert that conflicts would use up one of the 16 million ids.
-- A queue with a claim limit has a row in dibs.claim_limits. Leases that run already count from now on: see
-- claim/limit_upkeep.sql.
with changed as (
  update dibs.queues
  set
    lease_seconds = :lease_seconds::double precision,
    max_attempts = :max_attempts::integer,
    backoff = :backoff::json,
    retention_seconds = :retention_seconds::double precision,
    dead_retention_seconds = :dead_retention_seconds::double precision,
    max_leased = :max_leased::integer,
    rate_jobs = :rate_jobs::integer,
    rate_seconds = :rate_seconds::double precision,
    max_ready = :max_ready::integer,
    alert_after_seconds = :alert_after_seconds::double precision,
    dead_letter_queue = :dead_letter_queue::text,
    is_narrowing = is_narrowing or group_concurrency > :group_concurrency::integer,
    group_concurrency = :group_concurrency::integer,
    group_batches = :group_batches::integer
  where name = :name::text
  returning id
),
created as (
  insert into dibs.queues (
    name, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds,
    max_leased, rate_jobs, rate_seconds, max_ready, alert_after_seconds, dead_letter_queue, group_concurrency,
    group_batches
  )
  select
    :name::text, :lease_seconds::double precision, :max_attempts::integer, :backoff::json, :retention_seconds::double precision, :dead_retention_seconds::double precision,
    :max_leased::integer, :rate_jobs::integer, :rate_seconds::double precision, :max_ready::integer,
    :alert_after_seconds::double precision, :dead_letter_queue::text, :group_concurrency::integer,
    :group_batches::integer
  where not exists (select from changed)
  on conflict (name) do update set
    -- include shared/excluded_config.sql
  returning id
)
insert into dibs.claim_limits (queue_id, counting_since)
select id, now()
from (select id from changed union all select id from created) as configured
where :max_leased::integer is not null or :rate_jobs::integer is not null
on conflict (queue_id) do update set
  counting_since = excluded.counting_since,
  leases_from = excluded.leases_from;
