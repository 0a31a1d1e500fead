-- How many of these queues this database does not have.
select count(*)::integer as count
from unnest(:ids::integer[]) as placed (id)
where not exists (select from dibs.queues q where q.id = placed.id);
