-- Stores the follow-ups of an ack with its completed job.
update dibs.jobs set enqueued = :enqueued where queue_id = :queue_id and id = :id;
