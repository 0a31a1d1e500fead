-- A line for each job that a batch enqueues at its end.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'follower' as kind, b.queue_id, f.batch_id,
    f.on_success, f.queue, f.delay_seconds, f.run_at, f.priority, f.max_attempts, f.backoff::text as backoff,
    f.headers::text as headers, f.payload::text as payload, f.unique_key, f.unique_for_seconds, f.group_key, f.fairness_key,
    f.expires_in_seconds, f.on_duplicate, f.unique_until, f.joins, f.due_at
  from dibs.batch_followers f
  join dibs.batches b on b.id = f.batch_id
) as line;
