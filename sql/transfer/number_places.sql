-- Keeps the numbers that queues have in an export for them, in home. They have no database yet.
insert into dibs.placements (queue_id, name)
select new.number, new.name
from unnest(:numbers::integer[], :names::text[]) as new (number, name)
order by new.name
on conflict (name) do nothing;
