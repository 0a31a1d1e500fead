-- The places of the queues with these numbers.
select queue_id, name, database
from dibs.placements
where queue_id = any (:ids::integer[]);
