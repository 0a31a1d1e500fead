-- The version of a queue whose groups may have more heads than it allows. It changes whenever the queue's row does. While the queue
-- is imported, nobody looks.
select xmin::text as version from dibs.queues where id = :queue_id and is_narrowing and not is_importing;
