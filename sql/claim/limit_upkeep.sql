-- The upkeep of a queue with a claim limit. It does three things:
-- 1. It marks leases as `counted` that began before the queue had its limit. It does so for 10 s after the limit was
--    set, and once more later. By then every statement that did not know of the limit has ended. The ids ascend, so
--    that this and a batch of settlements cannot deadlock.
-- 2. Every 10 s it prunes the claim log: entries that have left the window of the rate are deleted.
-- 3. Every 10 s it raises the times from which the log and the leases are read (`claims_from`, `leases_from`). An index
--    keeps the entries of deleted rows while any transaction is old (docs/decisions/0010-scan-from-a-floor.md), and
--    reads would pass over them. `leases_from` stays 10 s behind: claims and extends commit within 10 s, so no lease
--    that is not visible yet ends before it.
with claim_limit as materialized (
  select
    l.*,
    l.counting_since > statement_timestamp() - interval '10 seconds' as is_new,
    -- include shared/limit_is_marking.sql
    as marking,
    l.pruned_at < statement_timestamp() - interval '10 seconds' as is_due,
    statement_timestamp() - coalesce(q.rate_seconds, 0) * interval '1 second' - interval '1 second' as window_began
  from dibs.claim_limits l
  cross join dibs.queues q
  where l.queue_id = :queue_id and q.id = :queue_id
),
uncounted as materialized (
  select id
  from dibs.jobs
  where queue_id = :queue_id
    and state = 'leased'
    and lease_expires_at between (select '-infinity'::timestamptz) and (select 'infinity'::timestamptz)
    and not counted
    and (select marking from claim_limit)
  order by id
  for update
),
marked as (
  update dibs.jobs
  set counted = true
  where queue_id = :queue_id and id = any (array(select id from uncounted))
),
pruned as (
  delete from dibs.claim_log
  where queue_id = :queue_id
    and until >= (select claims_from from claim_limit)
    and until < (select window_began from claim_limit)
    and (select is_due from claim_limit)
)
update dibs.claim_limits l
set
  pruned_at = statement_timestamp(),
  claims_from = (select window_began from claim_limit),
  leases_from = least(
    (
      select lease_expires_at
      from dibs.jobs
      where queue_id = :queue_id
        and state = 'leased'
        and counted
        and lease_expires_at >= (select leases_from from claim_limit)
      order by queue_id, lease_expires_at
      limit 1
    ),
    statement_timestamp() - interval '10 seconds'
  )
where l.queue_id = :queue_id
  and (select is_due and not is_new from claim_limit);
