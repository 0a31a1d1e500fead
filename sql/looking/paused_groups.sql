-- The groups of a queue that are paused, the first one first.
select unnest(paused_groups) as "group" from dibs.queues where id = :queue_id;
