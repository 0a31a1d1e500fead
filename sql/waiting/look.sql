-- Jobs that clients wait for, with their payloads. Those with more than :most_bytes are left out.
-- The ids ascend: see shared/batch_by_id.sql.
select
  j.state, j.finished_at, j.result, j.moved_to, j.payload,
  -- include shared/job_columns.sql
from dibs.jobs j
where
  -- include shared/batch_by_id.sql
  and
    -- include shared/job_bytes.sql
    + coalesce(octet_length(j.result::text), 0) <= :most_bytes::integer;
