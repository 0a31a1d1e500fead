-- The places of the queues with these numbers.
select queue_id, name, database, moving_to
from dibs.placements
where queue_id = any (:ids::integer[]);
