-- Returns the running leases of a claim to a request that repeats it. Runs after lock.sql, in the same transaction.
--   There are such leases   :request is noted as one that answers for them (`answerers`).
--   There are none          If :takes is true, :request becomes the holder, and may lease. It does not while the holder
--                           before it still looks at its queues (`looking_until`).
-- :waits tells whether :request will wait for jobs if it finds none.
-- `answerers` names 64 requests at most. The nil UUID after them says that there were more. No request can remove it.
-- So nobody gives these leases back: they are acked, or run out.
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
  -- How long the lease was when the claim gave it. The column is null until somebody extends the lease.
  -- An older replica leaves the column as it was for the lease before, and writes no leased_at: then the shorter time
  -- is taken.
  least(
    j.lease_seconds,
    extract(epoch from j.lease_expires_at - coalesce(j.leased_at, statement_timestamp()))::double precision
  ) as lease_seconds,
  -- include shared/job_columns.sql
from dibs.jobs j
where j.claim_holder = (select holder from claim where leased)
  and dibs.by_index(j.state = 'leased')
  and j.lease_expires_at > statement_timestamp();
