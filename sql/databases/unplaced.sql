-- In home: those of these queues of the database :database whose place is not there. `placed`: the database where the queue has its
-- place. Null: it has none, or its number or its name belongs to another queue. A queue that is being relocated is left out.
select asked.id, asked.name, place.database as placed
from unnest(:ids::integer[], :names::text[]) as asked (id, name)
left join dibs.placements place on place.queue_id = asked.id and place.name = asked.name
where place.queue_id is null
  or (
    place.database <> :database
    and place.moving_to is null
    and not exists (
      select from dibs.relocations r where r.queue_id = asked.id and r.phase <> 'ended' and not r.dry_run
    )
  )
order by asked.id;
