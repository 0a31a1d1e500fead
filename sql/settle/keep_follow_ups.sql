-- Keeps with a completed job what its ack has enqueued.
update dibs.jobs set enqueued = $3 where queue_id = $1 and id = $2;
