-- Those of these queues that are in this database, with this number and name.
select q.id, q.name
from unnest(:ids::integer[], :names::text[]) as asked (id, name)
join dibs.queues q on q.id = asked.id and q.name = asked.name;
