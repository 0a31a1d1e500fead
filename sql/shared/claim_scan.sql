-- The ready jobs of a claim, and those of them that it may have: of each group, one.
-- include shared/claim_ready.sql
,
-- include shared/claim_firsts.sql
measured as (
  select
    id,
    row_number() over line as slot,
    bytes,
    sum(bytes) over line - bytes as bytes_before
  from ready
  where
    -- include shared/is_first_of_group.sql
  window line as (order by rank, position rows unbounded preceding)
),
