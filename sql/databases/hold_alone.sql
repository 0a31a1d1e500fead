-- The place of a queue, for a transaction that changes it. Nobody creates the queue until it ends.
select queue_id, name, database, moving_to
from dibs.placements
where name = :name
for update;
