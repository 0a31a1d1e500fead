-- Runs leases on from now. Too late once the sweeper has taken the job back, though its token is still there.
update dibs.jobs j
set
  lease_expires_at = now() + longer.lease_seconds * interval '1 second',
  progress = coalesce(longer.progress::json, j.progress)
from unnest($2::uuid[], $3::uuid[], $4::double precision[], $5::text[])
  as longer (id, lease_token, lease_seconds, progress)
where j.queue_id = $1
  and j.id = longer.id
  and j.lease_token = longer.lease_token
  and j.state = 'leased'
returning j.id, j.lease_expires_at, j.cancel_requested;
