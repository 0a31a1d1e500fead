-- Leases jobs as claim/plain.sql does, but from a queue whose groups may have several heads: its `group_concurrency` is above 1, or
-- was a moment ago.
with wanted as materialized (
  select
    :slots::integer as slots,
    not paused and max_leased is null and rate_jobs is null as is_open,
    -- include shared/group_limits.sql
  from dibs.queues
  where id = :queue_id
),
-- include shared/claim_scan.sql
-- include shared/claim_picked.sql
,
leased as (
  update dibs.jobs j
  set
    -- include shared/claim_picked_leased.sql
)
select
  leased.*,
  -- include shared/claim_passed.sql
;
