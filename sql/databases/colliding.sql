-- The queues of this database that have this number, or this name.
select id, name
from dibs.queues
where id = :queue_id or name = :name;
