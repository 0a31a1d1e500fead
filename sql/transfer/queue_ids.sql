-- The ids of queues.
select id, name
from dibs.queues
where name = any (:names::text[]);
