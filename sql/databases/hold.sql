-- The places of these queues. They stay as they are until this transaction ends.
select queue_id, name, database, moving_to
from dibs.placements
where name = any (:names::text[])
order by name
for share;
