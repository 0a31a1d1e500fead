-- What lines of an export say of jobs that were on their way to a queue, in their order: as relay/parcel.sql tells them.
select
  line.queue_id, line.id, line.moved, line.on_duplicate, line.unique_until,
  extract(epoch from clock_timestamp() - line.created_at)::double precision as waited_seconds,
  -- include shared/asked_job.sql from=r.job
from json_to_recordset(:lines::json) as line (
  queue_id integer, id uuid, created_at timestamptz, job text, moved text, on_duplicate text,
  unique_until text
)
cross join lateral (select json_populate_record(null::dibs.new_job, line.job::json) as job) as r;
