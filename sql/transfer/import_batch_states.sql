-- Closes batches that are closed in the export, and says which have ended. A time at which one was closed or cancelled here meanwhile
-- stays. Returns those that may end now: all of their jobs and followers are in.
with line as materialized (
  select
    -- include shared/id_here.sql id=l.id queue=queue.to_id
    as id,
    l.closed_at, l.cancelled_at, l.finished_at, l.ended_at, l.succeeded
  from json_to_recordset(:lines::json) as l (
    queue_id integer, id uuid, closed_at timestamptz, cancelled_at timestamptz, finished_at timestamptz,
    ended_at timestamptz, succeeded boolean
  )
  join unnest(:from_ids::integer[], :to_ids::integer[]) as queue (from_id, to_id) on queue.from_id = l.queue_id
),
locked as materialized (
  select id from dibs.batches where id in (select id from line) order by id for no key update
)
update dibs.batches b
set
  closed_at = coalesce(line.closed_at, b.closed_at),
  cancelled_at = coalesce(line.cancelled_at, b.cancelled_at),
  finished_at = line.finished_at,
  ended_at = line.ended_at,
  succeeded = line.succeeded
from line
where b.id = line.id and b.id in (select id from locked)
returning b.id;
