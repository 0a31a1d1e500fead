-- Leases jobs as claim/plain.sql does, from a queue with a claim limit: at most as many as the limit allows. It runs
-- after claim/limit_lock.sql, in one transaction.
with
-- Where no job is ready, nothing is counted. Many claims look at queues that are empty.
any_ready (found) as materialized (
  select exists (
    select
    from unnest(:ranks::smallint[], :positions::bigint[], :last_ranks::smallint[], :last_positions::bigint[])
      as range (rank, position, last_rank, last_position)
    cross join lateral (
      select
      from dibs.jobs
      where
        -- include shared/ready_in_range.sql
      order by queue_id, -priority, position
      limit 1
    ) as job
  )
),
-- include shared/claim_allowance.sql
-- include shared/claim_scan.sql
-- include shared/claim_picked.sql
,
-- include shared/claim_logged.sql
update dibs.jobs j
set
  counted = (select counted from allowance),
  -- include shared/claim_lease.sql
;
