-- The leases of sessions that have ended, by queue: up to :limit.
with found as materialized (
  select queue_id, id
  from dibs.jobs
  where session_id = any (array(select id from dibs.sessions where ended limit 1000))
    and dibs.by_index(state = 'leased')
  limit (select :limit::integer)
)
select queue_id, array_agg(id order by id) as ids
from found
group by queue_id;
