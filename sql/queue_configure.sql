-- Replaces a queue's whole configuration, creating the queue when there is none.
insert into dibs.queues (name, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds)
values ($1, $2, $3, $4, $5, $6)
on conflict (name) do update set
  lease_seconds = excluded.lease_seconds,
  max_attempts = excluded.max_attempts,
  backoff = excluded.backoff,
  retention_seconds = excluded.retention_seconds,
  dead_retention_seconds = excluded.dead_retention_seconds;
