-- Finds the queues that keep finished jobs longer than their retention. ORDER BY and OFFSET make PostgreSQL probe the
-- index jobs_finished once for each queue and state. As a join, it read the finished jobs of all queues, every second.
select q.id as queue_id, kept.state, kept.seconds as retention_seconds
from dibs.queues q
cross join lateral (
  values
    ('completed'::dibs.job_state, q.retention_seconds),
    ('cancelled'::dibs.job_state, q.retention_seconds),
    ('dead'::dibs.job_state, q.dead_retention_seconds)
) as kept (state, seconds)
where exists (
  select from dibs.jobs j
  where j.queue_id = q.id
    and j.state in ('completed', 'cancelled', 'dead')
    and j.state = kept.state
    and j.finished_at <= now() - kept.seconds * interval '1 second'
    and (j.awaited_until is null or j.finished_at <= now() - interval '10 seconds')
  order by j.finished_at
  offset 0
);
