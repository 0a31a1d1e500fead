-- Leases jobs as claim/plain.sql does, from a queue with a claim limit: at most as many as the limit allows. It runs
-- behind claim/limit_lock.sql in one transaction.
with
-- include shared/claim_allowance.sql
-- include shared/claim_scan.sql
-- include shared/claim_picked.sql
,
-- include shared/claim_logged.sql
update dibs.jobs j
set
  counted = (select counted from allowance),
  -- include shared/claim_lease.sql
;
