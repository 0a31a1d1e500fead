-- The leases of sessions that have ended, by queue: up to :limit, but for those of the queues :passed.
-- Leaves out those that were given before :given_from, as maintenance/due_leases.sql does.
with found as materialized (
  select queue_id, id
  from dibs.jobs
  where session_id = any (array(select id from dibs.sessions where ended limit 1000))
    and dibs.by_index(state = 'leased')
    and queue_id <> all (:passed::integer[])
    and coalesce(leased_at, '-infinity') >= :given_from::timestamptz
  limit (select :limit::integer)
)
select queue_id, array_agg(id order by id) as ids
from found
group by queue_id;
