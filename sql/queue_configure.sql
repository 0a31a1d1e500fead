-- Replaces a queue's whole configuration, creating the queue when there is none (and only then using up an id).
with changed as (
  update dibs.queues
  set
    lease_seconds = $2,
    max_attempts = $3,
    backoff = $4,
    retention_seconds = $5,
    dead_retention_seconds = $6
  where name = $1
  returning id
)
insert into dibs.queues (name, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds)
select $1, $2, $3, $4, $5, $6
where not exists (select from changed)
on conflict (name) do update set
  lease_seconds = excluded.lease_seconds,
  max_attempts = excluded.max_attempts,
  backoff = excluded.backoff,
  retention_seconds = excluded.retention_seconds,
  dead_retention_seconds = excluded.dead_retention_seconds;
