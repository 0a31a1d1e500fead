-- Leases the first jobs of one queue to several consumers at once. Each job takes a slot, from 1 to :slots. Consumer i
-- has the slots from :first_slots[i] to the one before :first_slots[i + 1].
-- A queue with a claim limit gives nothing here, in case this replica has not heard of the limit yet. See
-- claim/limited.sql.
-- :claim_holders is null if no consumer has a claim_id, and :sessions is if none has a session.
with wanted as materialized (
  select
    :slots::integer as slots,
    not paused and max_leased is null and rate_jobs is null as is_open,
    group_concurrency = 1 as has_one_head
  from dibs.queues
  where id = :queue_id
),
-- include shared/claim_scan.sql
-- include shared/claim_picked.sql
update dibs.jobs j
set
  -- include shared/claim_lease.sql
;
