-- Lets the ids of new queues begin behind those of the import.
select setval('dibs.queue_ids', greatest(last_value, :last::bigint)) as last
from dibs.queue_ids;
