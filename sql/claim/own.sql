-- Runs before a claiming statement, in the same transaction. It is for claims with a claim_id that look for the first
-- time.
-- It writes the row of each claim, or locks the row that is there. If another request of the same claim is leasing
-- right now, this waits for it. All transactions take the rows in the order of their marks, so they cannot deadlock.
-- It fails (isClaimTaken) if another request is the holder of one of the claims, or if its leases were already given to
-- a request (`answerers`).
-- The row of a claim that waits is kept for 75 s: no claim waits for more than 60 s.
with owned as (
  insert into dibs.repeatable_claims as c (mark, holder, waits, until)
  select mark, holder, waits, statement_timestamp() + interval '1 second' * case when waits then 75 else 10 end
  from unnest(:marks::uuid[], :holders::uuid[], :waits::boolean[]) as claim (mark, holder, waits)
  order by mark
  on conflict (mark) do update
  set looking_until = null, until = greatest(c.until, excluded.until)
  where c.holder = excluded.holder and c.answerers is null
  returning c.mark
)
select case when (select count(*) from owned) < cardinality(:marks::uuid[]) then dibs.refuse_claim() end as refused;
