-- Leases the first jobs of one queue to several consumers at once. Each job takes a slot, from 1 to :slots. Consumer i
-- has the slots from :first_slots[i] to the one before :first_slots[i + 1].
-- It gives nothing of a queue with a claim limit, or whose groups may have several heads, in case this replica has not
-- heard of that yet. See claim/limited.sql and claim/heads.sql.
-- :claim_holders is null if no consumer has a claim_id, and :sessions is if none has a session.
with wanted as materialized (
  select
    :slots::integer as slots,
    not paused and max_leased is null and rate_jobs is null and group_concurrency = 1 and not is_narrowing as is_open
  from dibs.queues
  where id = :queue_id
),
-- include shared/claim_ready.sql
,
measured as (
  -- include shared/claim_measured.sql of=ready id=id bytes=bytes
  window line as (order by rank, position rows unbounded preceding)
),
-- include shared/claim_picked.sql
update dibs.jobs j
set
  -- include shared/claim_picked_leased.sql
;
