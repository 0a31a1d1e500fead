-- Deletes cancelled jobs of a queue that keeps none. Leaves those that a client waits for.
delete from dibs.jobs
where queue_id = :queue_id
  and id = any (:ids::uuid[])
  and state = 'cancelled'
  and (awaited_until is null or awaited_until <= now());
