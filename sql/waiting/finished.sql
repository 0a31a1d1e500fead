-- Whether jobs are finished that somebody waits for; those that are gone don't come back.
-- The ids ascend; on BETWEEN see ack.sql.
select j.id, j.state in ('completed', 'cancelled', 'dead') as finished
from dibs.jobs j
where
  -- include shared/batch_by_id.sql
;
