-- Ends an import: the queues that were not paused hand out jobs from now on. Leases count towards claim limits from now on,
-- as when a queue gets its limit (changing/queue_configure.sql).
with released as (
  update dibs.queues q
  set paused = line.paused, is_importing = false
  from unnest(:names::text[], :paused::boolean[]) as line (name, paused)
  where q.name = line.name
  returning q.id, q.max_leased, q.rate_jobs
)
insert into dibs.claim_limits (queue_id, counting_since)
select id, now()
from released
where max_leased is not null or rate_jobs is not null
on conflict (queue_id) do update set
  counting_since = excluded.counting_since,
  leases_from = excluded.leases_from;
