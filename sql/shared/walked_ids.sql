-- The ids of the jobs in :state, of the queue {queue}, among those that a look walks over: as many as {look} says, {beyond} :after. The
-- statement adds a limit.
select id
from (
  select id, state
  from dibs.jobs
  where queue_id = {queue}
    and (:after::uuid is null or id {beyond} :after)
    and
    -- include shared/walked_index.sql
  order by id {order}
  limit (select jobs from {look})
) as seen
where state::text = :state
