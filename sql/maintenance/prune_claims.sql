-- Deletes the oldest rows of claims with a claim_id whose time is over, of 1000 that it looks at. It keeps those whose
-- leases still run: a repeat must find them. :from is the scan horizon, see due_leases.sql.
-- A claiming statement that writes the row at the same moment also moves `until`: then the row is not due any more.
-- OFFSET 0 keeps each look at the leases a sub-select.
with due as materialized (
  select
    c.mark,
    c.until,
    exists (select from dibs.jobs j where j.claim_holder = c.holder and dibs.by_index(j.state = 'leased') offset 0) as leased
  from dibs.repeatable_claims c
  where c.until >= :from::timestamptz and c.until <= now()
  order by c.until
  limit (select 1000)
  for update of c skip locked
),
kept as (
  update dibs.repeatable_claims c
  set until = greatest(
    (select max(j.lease_expires_at) from dibs.jobs j where j.claim_holder = c.holder and dibs.by_index(j.state = 'leased')),
    now() + interval '10 seconds'
  )
  where c.mark = any (array(select mark from due where leased))
),
pruned as (
  delete from dibs.repeatable_claims c
  where c.mark = any (array(select mark from due where not leased))
)
select until::text as ended_at from due;
