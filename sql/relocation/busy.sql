-- In the database of a queue: whether an operation works on it, or moves jobs there. And the other queue that has to stay in its
-- database: where its dead jobs go, or one whose dead jobs go to it.
select
  exists (
    select from dibs.operations where state = 'running' and (queue_id = :queue_id or to_id = :queue_id)
  ) as is_busy,
  (
    select other.name
    from dibs.queues own
    join dibs.queues other on other.name = own.dead_letter_queue or other.dead_letter_queue = own.name
    where own.id = :queue_id
    limit 1
  ) as tied_to;
