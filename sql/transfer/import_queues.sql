-- Makes queues, paused until the import has ended. A queue of the same name that has no jobs takes the configuration.
insert into dibs.queues (
  id, name, paused, fair, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds, created_at,
  max_leased, rate_jobs, rate_seconds, max_ready
)
select
  case when :new_ids::boolean then coalesce(old.id, nextval('dibs.queue_ids')) else line.id end,
  line.name, true, line.fair, line.lease_seconds, line.max_attempts, line.backoff::json, line.retention_seconds,
  line.dead_retention_seconds, line.created_at, line.max_leased, line.rate_jobs, line.rate_seconds, line.max_ready
from json_to_recordset(:lines::json) as line (
  id integer, name text, fair boolean, lease_seconds double precision, max_attempts integer, backoff text,
  retention_seconds double precision, dead_retention_seconds double precision, created_at timestamptz,
  max_leased integer, rate_jobs integer, rate_seconds double precision, max_ready integer
)
left join dibs.queues old on old.name = line.name
on conflict (id) do update set
  paused = true,
  fair = excluded.fair,
  lease_seconds = excluded.lease_seconds,
  max_attempts = excluded.max_attempts,
  backoff = excluded.backoff,
  retention_seconds = excluded.retention_seconds,
  dead_retention_seconds = excluded.dead_retention_seconds,
  max_leased = excluded.max_leased,
  rate_jobs = excluded.rate_jobs,
  rate_seconds = excluded.rate_seconds,
  max_ready = excluded.max_ready
where queues.name = excluded.name;
