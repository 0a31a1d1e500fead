-- Waits for enqueues into these queues, and keeps them out until the transaction ends: see changing/queue_lock.sql.
select id from dibs.queues where id = any (:ids::integer[]) order by id for update;
