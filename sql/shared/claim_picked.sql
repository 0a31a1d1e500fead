-- The jobs that the claims lease, by id. Each has its slot, and the consumer that has this slot.
-- It takes jobs until they have :max_bytes together. The first job is always taken, unless it is larger than
-- :most_bytes.
-- The ids go through an array and not through a join, so that the planner always finds the jobs by primary key. As a
-- join, a plan that was made while the queue was empty read the whole queue (200,000 rows for 1), or compared each slot
-- with each job (300 ms for 1000).
picked as materialized (
  select
    array_agg(id order by id) as ids,
    array_agg(slot::integer order by id) as slots,
    array_agg(width_bucket(slot::integer, :first_slots::integer[]) order by id) as consumers
  from measured
  where bytes_before < :max_bytes and bytes_before + bytes <= :most_bytes
)
