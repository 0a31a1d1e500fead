-- A line for each job. JSON goes as a string that holds its text: so it stays as it was sent, and fits on the line. It is not
-- sorted: a sort would need the room of all jobs.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'job' as kind, queue_id, id, position, batch_id, moved_to,
    -- include shared/exported_columns.sql
  from dibs.jobs
) as line;
