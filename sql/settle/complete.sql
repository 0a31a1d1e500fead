-- Keeps done jobs with their results, in a queue with a retention or while somebody waits for them. The token stays, to know a repeated ack. The ids
-- ascend, and what stands beside one is found by bisection: see ack.sql.
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
