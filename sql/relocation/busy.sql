-- In the database of a queue: whether an operation works on it, or moves jobs there.
select exists (
  select from dibs.operations where state = 'running' and (queue_id = :queue_id or to_id = :queue_id)
) as is_busy;
