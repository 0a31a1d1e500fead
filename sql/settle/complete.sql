-- Keeps done jobs with their results, in a queue with a retention or while a client waits for them. The token stays, so
-- that a repeated ack is recognized.
-- The ids ascend: see shared/batch_by_id.sql.
update dibs.jobs j
set
  state = 'completed',
  finished_at = now(),
  lease_expires_at = null,
  is_head = false,
  result = (:results::text[])[width_bucket(j.id, :ids::uuid[])]::json
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.state <> 'completed'
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited;
