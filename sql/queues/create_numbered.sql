-- Creates queues with the numbers that home gave them, unless they are there. In the order of their names, so that no two
-- of these statements deadlock.
insert into dibs.queues (id, name)
select place.id, place.name
from unnest(:ids::integer[], :names::text[]) as place (id, name)
order by place.name
on conflict do nothing;
