-- Leases the first jobs of one queue to several consumers at once, in their order. Consumer i takes the slots from
-- :first_slots[i] on, which ascend from 1. There are :slots slots in all.
-- A queue with a claim limit gives nothing here: a replica may not have heard of the limit yet. See claim/limited.sql.
-- :claim_holders is null when no consumer has a claim_id.
with wanted as materialized (
  select :slots::integer as slots, not paused and max_leased is null and rate_jobs is null as is_open
  from dibs.queues
  where id = :queue_id
),
-- include shared/claim_scan.sql
-- include shared/claim_picked.sql
update dibs.jobs j
set
  -- include shared/claim_lease.sql
;
