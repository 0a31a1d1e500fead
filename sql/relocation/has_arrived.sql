-- In a database: whether the queue has arrived here. Home may have forgotten that. Then the note may be gone already, or the queue may
-- leave for another database.
select
  exists (select from dibs.queues where id = :queue_id and name = :queue)
  or exists (
    select from dibs.relocating_queues
    where queue_id = :queue_id and (role in ('leaving', 'returning') or (role = 'arrived' and relocation = :relocation))
  ) as has_arrived;
