-- Takes back leases of one queue that ran out, at most one for each position in $2. A job that is being settled or
-- extended at this moment is left alone; the lock rechecks state and expiry.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when j.attempt >= j.max_attempts then 'dead'
    else 'ready'
  end)::dibs.job_state,
  position = ($2::bigint[])[expired.place],
  run_at = case when j.cancel_requested or j.attempt >= j.max_attempts then j.run_at else now() end,
  finished_at = case when j.cancel_requested or j.attempt >= j.max_attempts then now() end,
  last_error = 'lease expired',
  lease_token = case when not j.cancel_requested then j.lease_token end,
  lease_expires_at = null,
  worker = null
from unnest(array(
    select id
    from dibs.jobs
    where queue_id = $1 and state = 'leased' 
      and lease_expires_at > $3::timestamptz and lease_expires_at <= now()
    order by lease_expires_at
    limit cardinality($2::bigint[])
    for update skip locked
  )) with ordinality as expired (id, place)
where j.queue_id = $1 and j.id = expired.id
returning j.id, j.state;
