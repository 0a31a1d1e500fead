-- In the source: the queue leaves. Its row is kept in dibs.relocating_queues. Without it, nobody inserts jobs or claims any here. It
-- waits for those who are about to insert. A note that a copy was refused here before matters no more. No row comes back when the
-- queue is gone, or has left before, or when another note is in the way.
with queue as materialized (
  select * from dibs.queues where id = :queue_id for update
),
kept as (
  insert into dibs.relocating_queues as known (queue_id, relocation, role, other, queue, arrivals)
  select
    id, :relocation, 'leaving', :target, row_to_json(queue),
    coalesce((select json_agg(a) from dibs.relay_arrivals a where a.queue_id = queue.id), '[]')
  from queue
  on conflict (queue_id) do update
  set
    relocation = excluded.relocation,
    role = excluded.role,
    attempt = excluded.attempt,
    other = excluded.other,
    queue = excluded.queue,
    arrivals = excluded.arrivals
  where known.role = 'refused'
  returning queue_id
)
delete from dibs.queues where id in (select queue_id from kept) returning id;
