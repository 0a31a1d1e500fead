-- In the target: the copy :attempt, and those before, cannot arrive any more. It waits for one that is about to. No row comes back
-- when the queue has arrived.
insert into dibs.relocating_queues as known (queue_id, relocation, role, attempt)
values (:queue_id, :relocation, 'refused', :attempt)
on conflict (queue_id) do update
set relocation = excluded.relocation, attempt = greatest(known.attempt, excluded.attempt)
where known.role = 'refused'
returning queue_id;
