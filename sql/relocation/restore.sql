-- In the source: the queue is here again, as it was. The mark is for scan floors that may have passed its jobs: see
-- src/floor/arrivals.ts.
with record as materialized (
  delete from dibs.relocating_queues
  where queue_id = :queue_id and relocation = :relocation and role = 'returning'
  returning queue
),
marked as (
  insert into dibs.arrival_marks (queue_id, first, last)
  select :queue_id, 0, last_value from dibs.positions, record
)
insert into dibs.queues
select queue.*
from record
cross join
  -- include shared/kept_queue.sql kept=record.queue
  as queue
returning id;
