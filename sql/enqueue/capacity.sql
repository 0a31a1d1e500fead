-- The free places under the max_ready of a queue. Null when the queue has no max_ready any more.
select dibs.capacity(:queue_id) as capacity;
