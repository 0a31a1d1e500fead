-- The claim picks its jobs, notes itself in the claim log of a queue with a rate limit, and leases the jobs.
-- include shared/claim_picked.sql
,
-- include shared/claim_logged.sql
,
leased as (
  update dibs.jobs j
  set
    counted = (select counted from allowance),
    -- include shared/claim_picked_leased.sql
)
