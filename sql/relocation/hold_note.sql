-- What a relocation has noted of a queue here. The relocation does not end until this transaction does.
select
  r.role, r.attempt, r.other,
  coalesce(r.queue ->> 'name', (select q.name from dibs.queues q where q.id = r.queue_id)) as queue
from dibs.relocating_queues r
where r.queue_id = :queue_id and r.relocation = :relocation
for update of r;
