-- Those of these queues that this database has.
select id, name
from dibs.queues
where id = any (:ids::integer[]);
