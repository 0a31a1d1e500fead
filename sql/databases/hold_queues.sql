-- Those of these queues that are in this database. Nobody deletes or relocates them until this transaction ends.
select id, name
from dibs.queues
where (id, name) in (select asked.id, asked.name from unnest(:ids::integer[], :names::text[]) as asked (id, name))
order by name
for key share;
