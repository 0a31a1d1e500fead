-- Keeps done jobs with their results, in a queue with a retention. The token stays, to know a repeated ack.
update dibs.jobs j
set
  state = 'completed',
  finished_at = now(),
  lease_expires_at = null,
  result = done.result::json
from unnest($2::uuid[], $3::uuid[], $4::text[]) as done (id, lease_token, result)
where j.queue_id = $1
  and j.id = done.id
  and j.lease_token = done.lease_token
  and j.state <> 'completed'
returning j.id;
