-- The places of those of these queues that have one.
select queue_id, name, database
from dibs.placements
where name = any (:names::text[]);
