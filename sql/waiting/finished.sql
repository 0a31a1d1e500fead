-- Whether jobs are finished that somebody waits for; those that are gone don't come back.
-- The ids ascend; on BETWEEN see ack.sql.
select id, state in ('completed', 'cancelled', 'dead') as finished
from dibs.jobs
where queue_id = $1
  and id = any ($2::uuid[])
  and id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])];
