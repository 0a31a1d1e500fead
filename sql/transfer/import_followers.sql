-- Puts in the followers of batches. One that joins a batch that is gone joins none. One of a batch that was cancelled here
-- meanwhile, or that joins such a batch, is left out.
insert into dibs.batch_followers (
  batch_id, on_success, queue, delay_seconds, run_at, priority, max_attempts, backoff, headers, payload, unique_key,
  unique_for_seconds, group_key, fairness_key, expires_in_seconds, on_duplicate, unique_until, joins, due_at
)
select
  batch.id, line.on_success, line.queue, line.delay_seconds, line.run_at, line.priority, line.max_attempts,
  line.backoff::json, line.headers::json, line.payload::json, line.unique_key, line.unique_for_seconds, line.group_key,
  line.fairness_key, line.expires_in_seconds, line.on_duplicate, line.unique_until, joined.id, line.due_at
from json_to_recordset(:lines::json) as line (
  queue_id integer, batch_id uuid, on_success boolean, queue text, delay_seconds double precision, run_at timestamptz,
  priority smallint, max_attempts integer, backoff text, headers text, payload text, unique_key text,
  unique_for_seconds double precision, group_key text, fairness_key text, expires_in_seconds double precision,
  on_duplicate text, unique_until text, joins uuid, due_at timestamptz
)
join unnest(:from_ids::integer[], :to_ids::integer[]) as queue (from_id, to_id) on queue.from_id = line.queue_id
join dibs.batches batch
  on batch.id =
    -- include shared/id_here.sql id=line.batch_id queue=queue.to_id
left join unnest(:from_ids::integer[], :to_ids::integer[]) as other (from_id, to_id)
  on lpad(to_hex(other.from_id), 6, '0') = right(line.joins::text, 6)
left join dibs.batches joined
  on joined.id =
    -- include shared/id_here.sql id=line.joins queue=other.to_id
where batch.cancelled_at is null and joined.cancelled_at is null
on conflict (batch_id, on_success) do nothing
returning batch_id as id;
