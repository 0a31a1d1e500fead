-- A line for each queue. `together` has the queues that share batches with it which have not ended, or of which a follower may still
-- come: an import puts them into one database.
with live as materialized (
  select id, queue_id
  from dibs.batches b
  where finished_at is null or exists (select from dibs.batch_followers f where f.batch_id = b.id)
),
shared as materialized (
  select live.queue_id, j.queue_id as other
  from live
  join dibs.jobs j on j.batch_id = live.id
  union
  select live.queue_id, q.id
  from live
  join dibs.batch_followers f on f.batch_id = live.id
  join dibs.queues q on q.name = f.queue
  union
  select live.queue_id, b.queue_id
  from live
  join dibs.batch_followers f on f.batch_id = live.id
  join dibs.batches b on b.id = f.joins
)
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'queue' as kind, id, name, paused, fair, lease_seconds, max_attempts, backoff::text as backoff, retention_seconds,
    dead_retention_seconds, created_at, max_leased, rate_jobs, rate_seconds, max_ready, alert_after_seconds, dead_letter_queue,
    group_concurrency, group_batches, is_narrowing, paused_groups,
    (select array_agg(other order by other) from shared where queue_id = q.id and other <> q.id) as together
  from dibs.queues q
  order by id
) as line;
