-- The running leases of a claim, for the request that repeats it. From now on :request answers for them, too. When
-- there are none, :request takes the claim (if :takes) and may lease, unless the holder took it and looks at its queues
-- at this moment. :waits says whether :request waits when it finds no jobs.
-- Runs after lock.sql. After 64 answerers it notes only that there are more (the nil UUID): nobody gives the leases
-- back then.
with claim as materialized (
  select
    c.holder,
    coalesce(c.looking_until > statement_timestamp(), false) as looks,
    exists (
      select
      from dibs.jobs j
      where j.claim_holder = c.holder and dibs.by_index(j.state = 'leased') and j.lease_expires_at > statement_timestamp()
      offset 0
    ) as leased
  from dibs.repeatable_claims c
  where c.mark = :mark
),
joined as (
  update dibs.repeatable_claims c
  set answerers = case
    when cardinality(c.answerers) < 64 or c.answerers is null then coalesce(c.answerers, array[c.holder]) || :request::uuid
    else c.answerers[:64] || '00000000-0000-0000-0000-000000000000'::uuid
  end
  where c.mark = :mark
    and (select leased from claim)
    and :request <> all (coalesce(c.answerers, array[c.holder]))
    and cardinality(coalesce(c.answerers, '{}')) <= 64
),
took as (
  update dibs.repeatable_claims c
  set
    holder = :request,
    answerers = null,
    waits = :waits,
    looking_until = statement_timestamp() + interval '3 seconds'
  where c.mark = :mark
    and :takes
    and (select not leased and (holder = :request or not looks) from claim)
)
select
  j.position, j.lease_token, j.payload,
  -- As the claim gave it. Beside older replicas, the column may tell of the lease before, and leased_at may be missing.
  least(
    j.lease_seconds,
    extract(epoch from j.lease_expires_at - coalesce(j.leased_at, statement_timestamp()))::double precision
  ) as lease_seconds,
  -- include shared/job_columns.sql
from dibs.jobs j
where j.claim_holder = (select holder from claim where leased)
  and dibs.by_index(j.state = 'leased')
  and j.lease_expires_at > statement_timestamp();
