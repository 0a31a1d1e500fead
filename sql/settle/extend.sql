-- Runs leases on from now. Too late once the sweeper has taken the job back, though its token is still there. The ids
-- ascend, and what stands beside one is found by bisection: see ack.sql.
-- That it is leased is not asked for by state: with few leases known, the planner would go through all by jobs_leased.
update dibs.jobs j
set
  lease_expires_at = now() + interval '1 second' * (:lease_seconds::double precision[])[width_bucket(j.id, :ids::uuid[])],
  progress = coalesce((:progress::text[])[width_bucket(j.id, :ids::uuid[])]::json, j.progress)
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.lease_expires_at is not null
returning j.id, j.lease_expires_at, j.cancel_requested;
