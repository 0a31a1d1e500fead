-- How far a queue that limits its claims is from handing out a job: how many leases count, up to max_leased, and when the
-- rate lets the next one go, null when it does now. Counted as by claim_limited.sql and claim_next.sql.
select leased.jobs as leased, freed.until + q.rate_seconds * interval '1 second' as next_at
from dibs.queues q
cross join lateral (
  select count(*)::integer as jobs
  from (
    select
    from dibs.jobs
    where queue_id = $1 and state = 'leased' and counted
    order by queue_id, lease_expires_at
    limit coalesce(q.max_leased, 0)
  ) as found
) as leased
left join lateral (
  select until
  from (
    select until, sum(jobs) over (order by until desc) as jobs
    from dibs.claimed
    where queue_id = $1 and until > now() - q.rate_seconds * interval '1 second'
  ) as since
  where since.jobs >= q.rate_jobs
  order by until desc
  limit 1
) as freed on true
where q.id = $1;
