-- Deletes cancelled jobs of a queue that keeps none. Leaves those that a client waits for.
with batch as materialized (
  select id, state, unique_key
  from dibs.jobs
  where queue_id = :queue_id
    and id = any (:ids::uuid[])
    and state = 'cancelled'
    and (awaited_until is null or awaited_until <= now())
  order by id
  for update
),
-- include shared/note_ends.sql
delete from dibs.jobs j
where j.queue_id = :queue_id
  and j.id = any (array(select id from batch))
  and
  -- include shared/no_ack.sql dead=cancelled
;
