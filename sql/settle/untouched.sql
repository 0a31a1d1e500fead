-- What became of jobs that a settling statement did not touch: gone, done before, or with somebody else.
-- The ids ascend; on BETWEEN see ack.sql.
select id, state, lease_token, enqueued
from dibs.jobs
where queue_id = $1
  and id = any ($2::uuid[])
  and id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])];
