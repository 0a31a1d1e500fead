-- Puts in batches, open: jobs of them may end before the others are put in, and that must not end a batch. One with the same id is
-- of an earlier import, whose jobs are gone. It begins anew with them.
insert into dibs.batches as b (id, queue_id, name, created_at, traceparent, completed, cancelled, dead)
select
  -- include shared/id_here.sql id=line.id queue=queue.to_id
  ,
  queue.to_id, line.name, line.created_at, line.traceparent, line.completed, line.cancelled, line.dead
from json_to_recordset(:lines::json) as line (
  queue_id integer, id uuid, name text, created_at timestamptz, traceparent text, completed bigint, cancelled bigint,
  dead bigint
)
join unnest(:from_ids::integer[], :to_ids::integer[]) as queue (from_id, to_id) on queue.from_id = line.queue_id
on conflict (id) do update set
  name = excluded.name,
  created_at = excluded.created_at,
  traceparent = excluded.traceparent,
  closed_at = null,
  cancelled_at = null,
  finished_at = null,
  ended_at = null,
  succeeded = false,
  completed = excluded.completed,
  cancelled = excluded.cancelled,
  dead = excluded.dead;
