-- In the target: the queue is here. The mark is for scan floors that may have passed its jobs: see src/floor/arrivals.ts.
with marked as (
  insert into dibs.arrival_marks (queue_id, first, last)
  select :queue_id, :first_position::bigint, last_value from dibs.positions
),
record as (
  select :queue::json as queue
)
insert into dibs.queues
select queue.*
from record
cross join
  -- include shared/kept_queue.sql kept=record.queue
  as queue;
