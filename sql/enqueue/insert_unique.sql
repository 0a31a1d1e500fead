-- Inserts jobs when some of them have unique keys. Holders of the keys :replacing that wait are replaced. Returns a row for each job: see sql/functions/insert_unique.sql.
select
  j.state, j.finished_at, j.result,
  -- include shared/job_columns.sql
from dibs.insert_unique(
  :queue_id,
  array(
    select row(new.*)::dibs.new_job
    from
    -- include shared/new_jobs.sql
  ),
  :replacing::text[],
  :batches::jsonb,
  :freeing::text[]
) as j;
