-- Deletes done jobs for whose end one client waits, on the replica that runs this, and returns them for that client.
-- Then awaited_until is :kept_seconds after the creation. When another client begins to wait, it becomes later
-- (waiting/await.sql). Such a job, and one with more than :most_bytes, is left to complete.sql. The ids ascend: see
-- shared/batch_by_id.sql.
delete from dibs.jobs j
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
  and j.awaited_until = j.created_at + :kept_seconds::double precision * interval '1 second'
  and
    -- include shared/job_bytes.sql
    <= :most_bytes::integer
returning
  'completed'::dibs.job_state as state, now() as finished_at, null::json as result, j.payload,
  -- include shared/job_columns.sql
;
