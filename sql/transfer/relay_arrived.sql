-- The last parcels from a source that have arrived in these queues.
select queue_id, number
from dibs.relay_arrivals
where source = :source and queue_id = any (:queue_ids::integer[]);
