-- What became of a queue in this database: see dibs.relocating_queues.
select relocation, role, attempt, queue::text as queue, arrivals::text as arrivals
from dibs.relocating_queues
where queue_id = :queue_id;
