-- Makes dead jobs ready again, or blocked in their groups, attempts afresh, each at the position beside its id; the ids
-- ascend (see ack.sql). One whose time is over is given all the time it needs.
-- The state is compared as a text, so that no index but the primary key seems to fit: in a table that was not analyzed
-- yet, each chunk read all that was dead.
update dibs.jobs j
set
  state = (case when j.group_key is null then 'ready' else 'blocked' end)::dibs.job_state,
  position = ($3::bigint[])[width_bucket(j.id, $2::uuid[])],
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when j.expires_at > now() then j.expires_at end
where j.queue_id = $1
  and j.id = any ($2::uuid[])
  and j.id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])]
  and j.state::text = 'dead'
returning j.id, j.state, j.group_key as "group";
