-- Pauses or resumes a queue.
update dibs.queues set paused = $2 where name = $1
returning id;
