-- In home: calls for the queue wait from now on, in every replica. No row comes back when the queue is gone.
with held as (
  update dibs.placements
  set moving_to = :target
  where queue_id = :queue_id and database = :source and moving_to is null
  returning name
)
select pg_notify('dibs', 'placed sql ' || name) from held;
