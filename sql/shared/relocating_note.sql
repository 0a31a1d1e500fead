-- The note that a queue is {role} by this relocation. A replica that lost the relocation finds none, and changes nothing.
record as materialized (
  select
  from dibs.relocating_queues
  where queue_id = :queue_id and relocation = :relocation and role = '{role}'
  for share
)
