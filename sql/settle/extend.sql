-- Makes leases end :lease_seconds from now. After the sweeper has rescued a job it is too late, though its token is
-- still there.
-- It does not compare the state: a planner that knows of few leases would walk all of them by the index jobs_leased.
-- The ids ascend: see shared/batch_by_id.sql.
update dibs.jobs j
set
  lease_seconds = coalesce(j.lease_seconds, extract(epoch from j.lease_expires_at - j.leased_at)),
  lease_expires_at = now() + interval '1 second' * (:lease_seconds::double precision[])[width_bucket(j.id, :ids::uuid[])],
  progress = coalesce((:progress::text[])[width_bucket(j.id, :ids::uuid[])]::json, j.progress)
where
  -- include shared/batch_by_id.sql
  and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :ids::uuid[])]
  and j.lease_expires_at is not null
returning j.id, j.lease_expires_at, j.cancel_requested;
