-- What became of jobs that a settling statement did not touch: gone, done before, or with somebody else.
-- The ids ascend; on BETWEEN see ack.sql.
select j.id, j.state, j.lease_token, j.enqueued
from dibs.jobs j
where
  -- include shared/batch_by_id.sql
;
