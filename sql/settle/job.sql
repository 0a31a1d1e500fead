-- One job with its payload.
select
  j.state, j.finished_at, j.result, j.moved_to, j.payload,
  -- include shared/job_columns.sql
from dibs.jobs j
where j.queue_id = :queue_id and j.id = :id;
