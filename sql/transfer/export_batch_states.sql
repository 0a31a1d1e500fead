-- A line for each batch that says how far it is. It comes behind all jobs and followers: import_batch_states.sql.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select 'batch_state' as kind, queue_id, id, closed_at, cancelled_at, finished_at, ended_at, succeeded
  from dibs.batches
) as line;
