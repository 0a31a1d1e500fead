-- Keeps the queue that a portion moves jobs to from being deleted. :counts asks for its free places, null when it has no
-- max_ready. No row comes back when it is gone.
select case when :counts then dibs.capacity(id) end as capacity
from dibs.queues
where id = :to_id
for key share;
