-- What relocations have noted of queues here, up to 1,000. A copy that was refused means nothing any more.
select
  r.relocation, r.queue_id as id,
  coalesce(r.queue ->> 'name', (select q.name from dibs.queues q where q.id = r.queue_id), '?') as name
from dibs.relocating_queues r
where r.role <> 'refused'
order by r.queue_id
limit 1000;
