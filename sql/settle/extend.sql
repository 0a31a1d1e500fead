-- Runs leases on from now. Too late once the sweeper has taken the job back, though its token is still there. The ids
-- ascend, and what stands beside one is found by bisection: see ack.sql.
-- That it is leased is not asked for by state: with few leases known, the planner would go through all by jobs_leased.
update dibs.jobs j
set
  lease_expires_at = now() + interval '1 second' * ($4::double precision[])[width_bucket(j.id, $2::uuid[])],
  progress = coalesce(($5::text[])[width_bucket(j.id, $2::uuid[])]::json, j.progress)
where j.queue_id = $1
  and j.id = any ($2::uuid[])
  and j.id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])]
  and j.lease_token = ($3::uuid[])[width_bucket(j.id, $2::uuid[])]
  and j.lease_expires_at is not null
returning j.id, j.lease_expires_at, j.cancel_requested;
