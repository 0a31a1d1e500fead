-- Whether a queue has no jobs at all. Not by EXISTS, which a planner that believes the queue to be large answers by
-- reading the table from its beginning, though it is other queues' jobs that stand there.
select (select id from dibs.jobs where queue_id = :queue_id order by id limit 1) is null as empty;
