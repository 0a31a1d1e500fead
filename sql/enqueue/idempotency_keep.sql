-- Keeps the jobs of a request under its key. For :open_seconds others may replace them. Null: these are final.
-- The key may be one that has expired, and an older Dibs may have written its record: so status, location and body are set anew.
update dibs.idempotency_keys
set
  jobs = array(select job from json_populate_recordset(null::dibs.kept_job, :jobs::json) as job),
  replaced = :replaced::boolean[],
  batches = :batches::uuid[],
  open_until = now() + :open_seconds::double precision * interval '1 second',
  status = default,
  location = default,
  body = default
where route = :route and key = :key;
