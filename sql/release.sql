-- Gives jobs back unworked: the attempt is not charged.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when given.delay_seconds > 0 then 'scheduled'
    else 'ready'
  end)::dibs.job_state,
  attempt = greatest(j.attempt - 1, 0),
  position = given.position,
  run_at = case
    when j.cancel_requested then j.run_at
    else now() + given.delay_seconds * interval '1 second'
  end,
  finished_at = case when j.cancel_requested then now() end,
  lease_token = null,
  lease_expires_at = null,
  worker = null
from unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::double precision[])
  as given (id, lease_token, position, delay_seconds)
where j.queue_id = $1
  and j.id = given.id
  and j.lease_token = given.lease_token
  and j.state <> 'completed'
returning
  j.id, j.state, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.lease_expires_at, j.finished_at, j.worker, j.last_error, j.headers, j.progress, j.result;
