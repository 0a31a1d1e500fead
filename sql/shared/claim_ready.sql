-- The first jobs without a fairness key that can be claimed, in the order of the queue. `wanted` tells how many, and
-- whether the queue gives any. The scan goes over ranges (src/floor/scanRanges.ts): each begins after (:ranks,
-- :positions) and ends with (:last_ranks, :last_positions). Jobs that another claim has locked are left out.
-- The limit is in a sub-select, so that the planner does not see it. With statistics from before a burst, the limit was
-- larger than the queue seemed to be. Then the planner read and sorted the whole queue (30,000 rows for 100).
ready as materialized (
  select job.*
  from unnest(:ranks::smallint[], :positions::bigint[], :last_ranks::smallint[], :last_positions::bigint[])
    as range (rank, position, last_rank, last_position)
  cross join lateral (
    select
      id, -priority as rank, position, group_key,
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
)
