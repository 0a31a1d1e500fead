-- Failed attempts: back after a backoff, or dead. $3 is the queue's backoff; a job's own goes before it.
-- Positions and random shares come as parameters: Citus takes no volatile function in an UPDATE.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when failed.final or j.attempt >= j.max_attempts then 'dead'
    when coalesce(failed.delay_seconds,
      dibs.backoff_seconds(coalesce(j.backoff, $3::json), j.attempt, failed.jitter_share)) > 0 then 'scheduled'
    else 'ready'
  end)::dibs.job_state,
  position = failed.position,
  run_at = case
    when j.cancel_requested or failed.final or j.attempt >= j.max_attempts then j.run_at
    else now() + interval '1 second' * coalesce(failed.delay_seconds,
      dibs.backoff_seconds(coalesce(j.backoff, $3::json), j.attempt, failed.jitter_share))
  end,
  finished_at = case
    when j.cancel_requested or failed.final or j.attempt >= j.max_attempts then now()
  end,
  last_error = failed.error,
  lease_token = null,
  lease_expires_at = null,
  worker = null
from unnest(
    $2::uuid[], $4::uuid[], $5::bigint[], $6::double precision[], $7::boolean[], $8::double precision[], $9::text[]
  ) as failed (id, lease_token, position, delay_seconds, final, jitter_share, error)
where j.queue_id = $1
  and j.id = failed.id
  and j.lease_token = failed.lease_token
  and j.state <> 'completed'
returning
  j.id, j.state, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.lease_expires_at, j.finished_at, j.worker, j.last_error, j.headers, j.progress, j.result;
