-- In home: the queue is in the database :database, and not where its place says.
with led as (
  update dibs.placements
  set database = :database
  where queue_id = :queue_id and name = :name and database = :placed and moving_to is null
  returning name
)
select pg_notify('dibs', 'placed sql ' || name) from led;
