-- Leases the first job of one queue to one consumer: what claim/plain.sql does for one slot. Where few consumers are, most
-- claims are like this, and starting the nodes of plain.sql takes longer than the rest.
with wanted as materialized (
  select
    1 as slots,
    not paused and max_leased is null and rate_jobs is null and group_concurrency = 1 and not is_narrowing as is_open
  from dibs.queues
  where id = :queue_id
),
-- include shared/claim_ready.sql
update dibs.jobs j
set
  -- include shared/claim_lease.sql consumer=first_consumer
where j.queue_id = :queue_id and j.id = (select id from ready where bytes <= :most_bytes)
returning
  1 as slot,
  j.position, j.lease_token, j.payload,
  -- include shared/job_columns.sql
;
