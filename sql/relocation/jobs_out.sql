-- In the source: copies the jobs of a queue out in their order of arrival. COPY takes no parameters. So the queue stands in the
-- setting `dibs.leaving`.
copy (
  select
    -- include shared/relocated_columns.sql
  from dibs.relocating_jobs
  where queue_id = current_setting('dibs.leaving')::integer
  order by position, id
) to stdout;
