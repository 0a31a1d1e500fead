-- How far a queue with claim limits is from its next claim: the number of its leases, up to max_leased, and the time when
-- the rate limit allows another job (null when it allows one now).
-- Leases that ran before the limit was set count too, as long as the next claim would count them: see
-- claim/limit_upkeep.sql.
select counted.jobs + uncounted.jobs as leased, last.until + q.rate_seconds * interval '1 second' as next_at
from dibs.queues q
cross join lateral (
  select count(*)::integer as jobs
  from (
    select
    from dibs.jobs
    where queue_id = :queue_id and state = 'leased' and counted
    order by queue_id, lease_expires_at
    limit coalesce(q.max_leased, 0)
  ) as found
) as counted
cross join lateral (
  select count(*)::integer as jobs
  from (
    select
    from dibs.jobs
    where queue_id = :queue_id
      and state = 'leased'
      and not counted
      and (
        select
          -- include shared/limit_is_marking.sql
        from dibs.claim_limits l
        where l.queue_id = :queue_id
      )
    order by lease_expires_at, queue_id
    limit coalesce(q.max_leased, 0)
  ) as found
) as uncounted
left join lateral (
  -- include shared/rate_limit_opens.sql
) as last on true
where q.id = :queue_id;
