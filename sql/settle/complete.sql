-- Keeps done jobs with their results, in a queue with a retention or while somebody waits for them. The token stays, to know a repeated ack. The ids
-- ascend, and what stands beside one is found by bisection: see ack.sql.
update dibs.jobs j
set
  state = 'completed',
  finished_at = now(),
  lease_expires_at = null,
  is_head = false,
  result = ($4::text[])[width_bucket(j.id, $2::uuid[])]::json
where j.queue_id = $1
  and j.id = any ($2::uuid[])
  and j.id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])]
  and j.lease_token = ($3::uuid[])[width_bucket(j.id, $2::uuid[])]
  and j.state <> 'completed'
returning j.id, j.state, j.group_key as "group", j.awaited_until > now() as awaited;
