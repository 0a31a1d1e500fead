-- The places of those of these queues that have one.
select queue_id, name, database, moving_to
from dibs.placements
where name = any (:names::text[]);
