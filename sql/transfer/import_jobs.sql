-- Puts in jobs as they were, in any state, with a lease that may still run. Queues are those of the export (:from_ids) and of
-- this database (:to_ids). The marks are for scan floors that may have passed the positions: see src/floor/arrivals.ts.
with new as materialized (
  select
    line.*,
    queue.to_id,
    -- The last 6 digits of an id are its queue. They stay as they are where the queue has its old id.
    (left(line.id::text, 30) || lpad(to_hex(queue.to_id), 6, '0'))::uuid as to_job,
    line.position + :before::bigint as to_position
  from json_to_recordset(:lines::json) as line (
    queue_id integer, id uuid, state dibs.job_state, position bigint, run_at timestamptz, created_at timestamptz,
    lease_expires_at timestamptz, finished_at timestamptz, lease_token uuid, attempt integer, max_attempts integer,
    deliveries integer, priority smallint, cancel_requested boolean, worker text, last_error text, unique_key text,
    group_key text, is_head boolean, fairness_key text, expires_at timestamptz, backoff text, headers text, progress text,
    result text, enqueued text, payload text
  )
  join unnest(:from_ids::integer[], :to_ids::integer[]) as queue (from_id, to_id) on queue.from_id = line.queue_id
),
marked as (
  insert into dibs.arrival_marks (queue_id, first, last)
  select to_id, min(to_position), max(to_position)
  from new
  where state = 'ready'
  group by to_id
)
insert into dibs.jobs (
  queue_id, id, state, position, run_at, created_at, lease_expires_at, finished_at, lease_token, attempt, deliveries,
  max_attempts, payload_bytes, priority, cancel_requested, worker, last_error, unique_key, group_key, is_head,
  fairness_key, expires_at, backoff, headers, progress, result, enqueued, payload
)
select
  to_id, to_job, state, to_position, run_at, created_at, lease_expires_at, finished_at, lease_token, attempt, deliveries,
  max_attempts, octet_length(payload), priority, cancel_requested, worker, last_error, unique_key, group_key, is_head,
  fairness_key, expires_at, backoff::json, headers::json, progress::json, result::json, enqueued::json, payload::json
from new;
