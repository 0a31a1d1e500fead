-- Keeps enqueues out of a queue (enqueue.sql takes a key share) until the transaction ends.
select id from dibs.queues where id = :queue_id for update;
