-- In the target: the queue is here. The mark is for scan floors that may have passed its jobs: see src/floor/arrivals.ts.
with marked as (
  insert into dibs.arrival_marks (queue_id, first, last)
  select :queue_id, :first_position::bigint, last_value from dibs.positions
)
insert into dibs.queues
select * from json_populate_record(null::dibs.queues, :queue::json);
