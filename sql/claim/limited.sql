-- Leases jobs as claim/plain.sql does, but from a queue with a claim limit, and no more than the limit allows. Runs
-- after claim/limit_lock.sql, in the same transaction.
with
-- Many claims look at empty queues. For those, leases and the claim log are not counted.
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
-- include shared/claim_leased.sql
select
  leased.*,
  -- include shared/claim_passed.sql
;
