-- Replaces a queue's whole configuration, creating the queue when there is none; an update of its own first, as an
-- insert that conflicts would use up one of the 16 million ids.
-- With a limit on its claims it has a gate. Leases that run already count from now on: see claim_tidy.sql.
with changed as (
  update dibs.queues
  set
    lease_seconds = $2::double precision,
    max_attempts = $3::integer,
    backoff = $4::json,
    retention_seconds = $5::double precision,
    dead_retention_seconds = $6::double precision,
    max_leased = $7::integer,
    rate_jobs = $8::integer,
    rate_seconds = $9::double precision,
    max_ready = $10::integer
  where name = $1::text
  returning id
),
created as (
  insert into dibs.queues (
    name, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds,
    max_leased, rate_jobs, rate_seconds, max_ready
  )
  select
    $1::text, $2::double precision, $3::integer, $4::json, $5::double precision, $6::double precision,
    $7::integer, $8::integer, $9::double precision, $10::integer
  where not exists (select from changed)
  on conflict (name) do update set
    lease_seconds = excluded.lease_seconds,
    max_attempts = excluded.max_attempts,
    backoff = excluded.backoff,
    retention_seconds = excluded.retention_seconds,
    dead_retention_seconds = excluded.dead_retention_seconds,
    max_leased = excluded.max_leased,
    rate_jobs = excluded.rate_jobs,
    rate_seconds = excluded.rate_seconds,
    max_ready = excluded.max_ready
  returning id
)
insert into dibs.gates (queue_id, counting_since)
select id, now()
from (select id from changed union all select id from created) as configured
where $7::integer is not null or $8::integer is not null
on conflict (queue_id) do update set
  counting_since = excluded.counting_since,
  leases_from = excluded.leases_from;
