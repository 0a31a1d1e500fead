-- The ids of queues. The lock keeps a DELETE of them out until this transaction has put in their jobs.
select id, name
from dibs.queues
where name = any (:names::text[])
order by id
for key share;
