-- Takes the leases of the jobs `j` with these ids and tokens away. It ends an UPDATE of them.
-- A dead job with a unique key is touched only if :late is true: another job may have its key by now.
lease_token = null,
lease_expires_at = null,
worker = null
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
  and (j.state <> 'dead' or j.unique_key is null or :late)
returning
  j.state, j.finished_at, j.result, j.awaited_until > now() as awaited,
  -- include shared/job_columns.sql
