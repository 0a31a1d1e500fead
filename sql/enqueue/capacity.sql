-- How many more jobs a queue with max_ready has capacity for. Null when it has no max_ready any more.
select dibs.capacity(:queue_id) as capacity;
