-- Shows jobs that the statement of a verb did not touch. A job that is gone has no row.
-- The ids ascend: see shared/batch_by_id.sql.
select j.id, j.state, j.lease_token, j.enqueued, j.unique_key, j.headers, j.batch_id as batch
from dibs.jobs j
where
  -- include shared/batch_by_id.sql
;
