-- In home: the queue lives in its new database. Calls for it go on there.
with moved as (
  update dibs.placements
  set database = moving_to, moving_to = null
  where queue_id = :queue_id and moving_to is not null
  returning name
)
select pg_notify('dibs', 'placed sql ' || name) from moved;
