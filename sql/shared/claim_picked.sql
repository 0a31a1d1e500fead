-- The jobs that the claims lease, by id: each with its slot, and with the consumer that the slot belongs to. It stops
-- when the jobs have :max_bytes together. The first job is always taken, unless it is larger than :most_bytes.
-- The ids go through an array and nothing is joined, so that the planner always comes back by primary key. As a join, a
-- plan made while the queue was empty became a hash join over the whole queue (200,000 rows for 1), or compared each
-- slot with each job (300 ms for 1000).
picked as materialized (
  select
    array_agg(id order by id) as ids,
    array_agg(slot::integer order by id) as slots,
    array_agg(width_bucket(slot::integer, :first_slots::integer[]) order by id) as consumers
  from measured
  where bytes_before < :max_bytes and bytes_before + bytes <= :most_bytes
)
