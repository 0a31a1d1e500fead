-- Replaces a queue's whole configuration, creating the queue when there is none; an update of its own first, as an
-- insert that conflicts would use up one of the 16 million ids.
with changed as (
  update dibs.queues
  set
    lease_seconds = $2::double precision,
    max_attempts = $3::integer,
    backoff = $4::json,
    retention_seconds = $5::double precision,
    dead_retention_seconds = $6::double precision
  where name = $1::text
  returning id
)
insert into dibs.queues (name, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds)
select $1::text, $2::double precision, $3::integer, $4::json, $5::double precision, $6::double precision
where not exists (select from changed)
on conflict (name) do update set
  lease_seconds = excluded.lease_seconds,
  max_attempts = excluded.max_attempts,
  backoff = excluded.backoff,
  retention_seconds = excluded.retention_seconds,
  dead_retention_seconds = excluded.dead_retention_seconds;
