-- In the target: whether the queue has arrived.
select exists (
  select from dibs.relocating_queues
  where queue_id = :queue_id and relocation = :relocation and role = 'arrived'
) as has_arrived;
