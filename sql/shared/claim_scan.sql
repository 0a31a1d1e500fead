-- The ready jobs of a claim, and those that it may have.
-- include shared/claim_ready.sql
,
-- include shared/claim_firsts.sql line=rank,position
measured as (
  -- include shared/claim_measured.sql of=line_up id=given_id bytes=given_bytes
  window line as (order by rank, position rows unbounded preceding)
),
