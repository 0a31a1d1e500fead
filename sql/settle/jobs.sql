-- Jobs without their payloads. The ids ascend: see shared/batch_by_id.sql.
select
  j.state, j.finished_at, j.result,
  -- include shared/job_columns.sql
from dibs.jobs j
where
  -- include shared/batch_by_id.sql
;
