-- Finds the queues that keep finished jobs longer than their retention, and when the first of these jobs finished. It
-- looks back over jobs whose retention ended in the last :since_seconds, or over all (null): index entries of jobs that
-- are gone are passed over, too.
-- ORDER BY and LIMIT make PostgreSQL probe the
-- index jobs_finished once for each queue and state. As a join, it read the finished jobs of all queues, every second.
select
  q.id as queue_id,
  kept.state,
  kept.seconds as retention_seconds,
  first.finished_at::text as first_finished_at
from dibs.queues q
cross join lateral (
  -- include shared/kept_states.sql
) as kept (state, seconds)
cross join lateral (
  select j.finished_at
  from dibs.jobs j
  where j.queue_id = q.id
    and j.state in ('completed', 'cancelled', 'dead')
    and j.state = kept.state
    and j.finished_at <= now() - kept.seconds * interval '1 second'
    and j.finished_at > coalesce(
      now() - (kept.seconds + :since_seconds::double precision) * interval '1 second',
      '-infinity'
    )
    and (j.awaited_until is null or j.finished_at <= now() - interval '10 seconds')
  order by j.queue_id, j.state, j.finished_at
  limit 1
) as first;
