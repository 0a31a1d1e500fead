-- Whether a queue has no jobs at all. It does not use EXISTS: a planner that believes the queue to be large then reads the
-- table from its beginning, where the jobs of other queues stand.
select (select id from dibs.jobs where queue_id = :queue_id order by id limit 1) is null as empty;
