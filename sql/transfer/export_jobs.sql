-- A line for each job. JSON goes as a string that holds its text: so it stays as it was sent, and fits on the line. It is not
-- sorted: a sort would need the room of all jobs.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'job' as kind, queue_id, id, state, position, run_at, created_at, lease_expires_at, finished_at, lease_token,
    attempt, deliveries, max_attempts, priority, cancel_requested, worker, last_error, unique_key, group_key, is_head,
    fairness_key, expires_at, backoff::text as backoff, headers::text as headers, progress::text as progress,
    result::text as result, enqueued::text as enqueued, payload::text as payload
  from dibs.jobs
) as line;
