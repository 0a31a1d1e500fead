-- Runs after a claiming statement, in its transaction, for the claims with a claim_id that have their rows: they look
-- at their next queue, or waited. Only those that it gave jobs need their rows: this spares the others a write. It
-- fails as own.sql does, and then nothing is leased. The look for leases stays a sub-select ("offset 0"): as a join, a
-- plan made at a quiet time might read all jobs.
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
