-- Keeps with a completed job what its ack has enqueued.
update dibs.jobs set enqueued = :enqueued where queue_id = :queue_id and id = :id;
