-- In how many seconds the rate of a queue lets another job go; no row when it does now, or has no rate. Behind
-- claim_limited.sql in its transaction.
select
  extract(epoch from freed.until + q.rate_seconds * interval '1 second' - statement_timestamp())::double precision as seconds
from dibs.queues q
cross join lateral (
  select until
  from (
    select until, sum(jobs) over (order by until desc) as jobs
    from dibs.claimed
    where queue_id = $1 and until > statement_timestamp() - q.rate_seconds * interval '1 second'
  ) as since
  where since.jobs >= q.rate_jobs
  order by until desc
  limit 1
) as freed
where q.id = $1;
