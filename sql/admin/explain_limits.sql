-- How far a queue with claim limits is from its next claim: the number of its leases, up to max_leased, and the time when
-- the rate limit allows another job (null when it allows one now).
select leased.jobs as leased, last.until + q.rate_seconds * interval '1 second' as next_at
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
) as leased
left join lateral (
  -- include shared/rate_limit_opens.sql
) as last on true
where q.id = :queue_id;
