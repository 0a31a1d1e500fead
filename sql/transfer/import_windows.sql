-- Puts in unique windows. One whose queue has another id now is left out: it holds its job with the old id.
insert into dibs.unique_windows (queue_id, unique_key, until, job_id, job, ended_as, headers)
select line.queue_id, line.unique_key, line.until, line.job_id, line.job::json, line.ended_as, line.headers::json
from json_to_recordset(:lines::json) as line (
  queue_id integer, unique_key text, until timestamptz, job_id uuid, job text, ended_as dibs.job_state, headers text
)
join unnest(:from_ids::integer[], :to_ids::integer[]) as queue (from_id, to_id) on queue.from_id = line.queue_id
where queue.from_id = queue.to_id
on conflict do nothing
returning job_id as id;
