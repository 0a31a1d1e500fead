-- Tells whether jobs that clients wait for are finished. A job that is gone has no row.
-- The ids ascend: see shared/batch_by_id.sql.
select j.id, j.state in ('completed', 'cancelled', 'dead') as finished
from dibs.jobs j
where
  -- include shared/batch_by_id.sql
;
