-- In home: those of these queues that have no place, and were not deleted here. Home has forgotten them.
select asked.id, asked.name
from unnest(:ids::integer[], :names::text[]) as asked (id, name)
where not exists (select from dibs.placements place where place.queue_id = asked.id and place.name = asked.name)
  and not exists (select from dibs.free_queue_ids free where free.queue_id = asked.id)
order by asked.id;
