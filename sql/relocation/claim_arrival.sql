-- In the target: this transaction brings the queue by the copy :attempt. No row comes back when another one has, or when this copy
-- was refused (refuse.sql).
insert into dibs.relocating_queues as known (queue_id, relocation, role, attempt, other)
values (:queue_id, :relocation, 'arrived', :attempt, :source)
on conflict (queue_id) do update
set relocation = excluded.relocation, role = excluded.role, attempt = excluded.attempt, other = excluded.other
where known.role = 'refused' and (known.relocation <> excluded.relocation or known.attempt < excluded.attempt)
returning queue_id;
