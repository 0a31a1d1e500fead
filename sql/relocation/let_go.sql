-- In home: the queue stays where it was. Calls for it go on. :is_gone: it was deleted before it could leave.
with released as (
  update dibs.placements set moving_to = null where queue_id = :queue_id returning name
),
told as (
  select pg_notify('dibs', 'placed sql ' || name) from released
)
select count(*)::integer as count from told;
