-- How many of these queues this database does not have.
select count(*)::integer as count
from unnest(:ids::integer[], :names::text[]) as placed (id, name)
where not exists (select from dibs.queues q where q.id = placed.id and q.name = placed.name);
