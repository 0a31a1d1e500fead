-- The numbers that queues of an export get here: that of the queue of the same name, or a new one.
select new.id as from_id, coalesce(old.id, dibs.next_queue_id()) as to_id
from unnest(:ids::integer[], :names::text[]) as new (id, name)
left join dibs.queues old on old.name = new.name;
