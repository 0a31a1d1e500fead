-- Runs before a claiming statement, in its transaction, for the claims with a claim_id that look for the first time. It
-- writes or locks their rows, in the order of the marks, and waits for other requests of the same claims that lease at
-- this moment. It fails (isClaimTaken) when another request holds one of the claims, or answers for its leases.
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
