-- Keeps enqueues out of a queue until the transaction ends: enqueue/insert.sql takes a key share of it.
select id from dibs.queues where id = :queue_id for update;
