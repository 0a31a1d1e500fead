-- The place of a queue, for a transaction that changes it. Nobody creates the queue until it ends.
select queue_id, name, database
from dibs.placements
where name = :name
for update;
