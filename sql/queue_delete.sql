-- Deletes an empty, locked queue.
delete from dibs.queues where id = $1;
