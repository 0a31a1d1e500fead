-- In the source: the queue leaves. Its row is kept in dibs.relocating_queues. Without it, nobody inserts jobs or claims any here. It
-- waits for those who are about to insert. No row comes back when the queue is gone, or has left before.
with queue as materialized (
  select * from dibs.queues where id = :queue_id for update
),
kept as (
  insert into dibs.relocating_queues (queue_id, relocation, role, queue, arrivals)
  select
    id, :relocation, 'leaving', row_to_json(queue),
    coalesce((select json_agg(a) from dibs.relay_arrivals a where a.queue_id = queue.id), '[]')
  from queue
)
delete from dibs.queues where id in (select id from queue) returning id;
