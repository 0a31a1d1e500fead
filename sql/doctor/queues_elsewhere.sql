-- The queues of this database that are none of these.
select id, name
from dibs.queues
where id <> all (:ids::integer[])
order by name;
