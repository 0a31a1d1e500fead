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
    queue_id integer, id uuid, position bigint,
    -- include shared/line_columns.sql
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
  queue_id, id, position, payload_bytes,
  -- include shared/imported_columns.sql
)
select
  to_id, to_job, to_position, octet_length(payload),
  -- include shared/imported_values.sql
from new;
