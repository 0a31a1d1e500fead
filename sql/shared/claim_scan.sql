-- The first jobs without a fairness key that can be claimed, in the order of the queue. `wanted` tells how many, and
-- whether the queue gives any. The scan goes over ranges (src/floor/scanRanges.ts): each begins after (:ranks, :positions)
-- and ends with (:last_ranks, :last_positions).
-- It passes over jobs that another claim has locked.
-- The limit is hidden from the planner in a sub-select. With statistics from before a burst, the planner saw a limit larger
-- than the queue seemed to be, and fetched and sorted the whole queue first (30,000 rows for 100).
ready as materialized (
  select job.*
  from unnest(:ranks::smallint[], :positions::bigint[], :last_ranks::smallint[], :last_positions::bigint[])
    as range (rank, position, last_rank, last_position)
  cross join lateral (
    select
      id, priority, position,
      -- include shared/job_bytes.sql
      as bytes
    from dibs.jobs
    where
      -- include shared/ready_in_range.sql
      and (select is_open from wanted)
    order by queue_id, -priority, position
    limit (select slots from wanted)
    for update skip locked
  ) as job
  limit (select slots from wanted)
),
measured as (
  select
    id,
    row_number() over line as slot,
    bytes,
    sum(bytes) over line - bytes as bytes_before
  from ready
  window line as (order by -priority, position rows unbounded preceding)
),
