-- Pauses or resumes a queue.
update dibs.queues set paused = :paused where name = :name
returning id;
