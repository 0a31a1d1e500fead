-- Puts in jobs as they were, in any state, with a lease that may still run. Queues are those of the export (:from_ids) and of
-- this database (:to_ids). A job whose batch is not here has none. The marks are for scan floors that may have passed the positions:
-- see src/floor/arrivals.ts.
-- The dead letter of a job may be in another database: :from_all and :to_all are the queues of all.
with new as materialized (
  select
    line.*,
    queue.to_id,
    -- include shared/id_here.sql id=line.id queue=queue.to_id
    as to_job,
    batch.id as to_batch,
    coalesce(
      -- include shared/id_here.sql id=line.moved_to queue=of_letter.to_id
      , line.moved_to
    ) as to_letter,
    line.position + :before::bigint as to_position
  from json_to_recordset(:lines::json) as line (
    queue_id integer, id uuid, position bigint, batch_id uuid, moved_to uuid,
    -- include shared/line_columns.sql
  )
  join unnest(:from_ids::integer[], :to_ids::integer[]) as queue (from_id, to_id) on queue.from_id = line.queue_id
  left join unnest(:from_ids::integer[], :to_ids::integer[]) as of_batch (from_id, to_id)
    on lpad(to_hex(of_batch.from_id), 6, '0') = right(line.batch_id::text, 6)
  left join dibs.batches batch
    on batch.id =
      -- include shared/id_here.sql id=line.batch_id queue=of_batch.to_id
  left join unnest(:from_all::integer[], :to_all::integer[]) as of_letter (from_id, to_id)
    on lpad(to_hex(of_letter.from_id), 6, '0') = right(line.moved_to::text, 6)
),
marked as (
  insert into dibs.arrival_marks (queue_id, first, last)
  select to_id, min(to_position), max(to_position)
  from new
  where state = 'ready'
  group by to_id
)
insert into dibs.jobs (
  queue_id, id, position, payload_bytes, batch_id, moved_to,
  -- include shared/imported_columns.sql
)
select
  to_id, to_job, to_position, octet_length(payload), to_batch, to_letter,
  -- include shared/imported_values.sql
from new;
