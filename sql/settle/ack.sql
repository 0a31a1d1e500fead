-- Deletes done jobs. A lease that ran out still counts while no other worker got the job: its token is still there.
-- A job that a client waits for is left to complete.sql.
-- The ids ascend: see shared/batch_by_id.sql.
delete from dibs.jobs j
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
  and (j.awaited_until is null or j.awaited_until <= now())
returning j.id, j.group_key as "group";
