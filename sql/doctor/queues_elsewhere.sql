-- The queues of this database that are none of these, by number and name.
select q.id, q.name
from dibs.queues q
where not exists (
    select from unnest(:ids::integer[], :names::text[]) as placed (id, name)
    where placed.id = q.id and placed.name = q.name
  )
order by q.name;
