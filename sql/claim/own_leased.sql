-- Runs after a claiming statement, in the same transaction. It is for claims with a claim_id that have looked before:
-- they are at their next queue, or they waited. Their rows were written by own.sql.
-- Only the claims that got jobs just now write their rows again. The others are spared the write.
-- It fails as own.sql does. Then the whole transaction fails, and nothing is leased.
-- "offset 0" keeps the search for leases a sub-select. As a join, a plan that was made while few jobs were leased might
-- read all jobs later.
with leasing as materialized (
  select mark, holder
  from unnest(:marks::uuid[], :holders::uuid[]) as claim (mark, holder)
  where exists (select from dibs.jobs j where j.claim_holder = claim.holder and dibs.by_index(j.state = 'leased') offset 0)
),
owned as (
  insert into dibs.repeatable_claims as c (mark, holder, until)
  select mark, holder, statement_timestamp() + interval '10 seconds'
  from leasing
  order by mark
  on conflict (mark) do update
  set
    waits = false,
    looking_until = null,
    until = greatest(c.until, excluded.until)
  where c.holder = excluded.holder and c.answerers is null
  returning c.mark
)
select case when (select count(*) from owned) < (select count(*) from leasing) then dibs.refuse_claim() end as refused;
