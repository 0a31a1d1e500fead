-- A line for each unique window that is open.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select 'window' as kind, queue_id, unique_key, until, job_id, job::text as job, ended_as, headers::text as headers
  from dibs.unique_windows
  where until > now()
) as line;
