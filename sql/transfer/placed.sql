-- The places in home that are in the way of an import: of another queue of the same name, or with the same number.
select distinct p.name
from dibs.placements p
join unnest(:ids::integer[], :names::text[]) as new (id, name) on p.name = new.name or p.queue_id = new.id
where (p.queue_id, p.name) <> (new.id, new.name)
order by p.name;
