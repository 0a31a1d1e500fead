-- The ready jobs of a claim, and those of them that it may have: of each group, one.
-- include shared/claim_ready.sql
,
-- include shared/claim_firsts.sql
measured as (
  -- include shared/claim_measured.sql
  where
    -- include shared/is_first_of_group.sql
  window line as (order by rank, position rows unbounded preceding)
),
