-- A queue is gone. Its number is free from now on.
with free as (
  insert into dibs.free_queue_ids (queue_id)
  values (:queue_id)
  on conflict (queue_id) do update set since = excluded.since
)
delete from dibs.placements where queue_id = :queue_id;
