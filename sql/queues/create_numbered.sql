-- Creates queues with the numbers that home gave them, unless they are there. In the order of their names, so that no two
-- of these statements deadlock. Returns those that it has not created: they are there, or another queue has the number or the name,
-- or they are being relocated from here.
with place as materialized (
  select place.id, place.name
  from unnest(:ids::integer[], :names::text[]) as place (id, name)
  order by place.name
),
made as (
  insert into dibs.queues (id, name)
  select place.id, place.name
  from place
  where not exists (
    select from dibs.relocating_queues r where r.queue_id = place.id and r.role in ('leaving', 'returning')
  )
  on conflict do nothing
  returning id
)
select place.id, place.name
from place
where place.id not in (select made.id from made);
