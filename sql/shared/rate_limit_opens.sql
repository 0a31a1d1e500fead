-- The entry of the claim log that must leave the window before the rate limit of queue `q` allows another job. There is no
-- row when the limit allows one now, or when the queue has no rate limit.
select until
from (
  select until, sum(jobs) over (order by until desc) as jobs
  from dibs.claim_log
  where queue_id = :queue_id and until > statement_timestamp() - q.rate_seconds * interval '1 second'
) as since
where since.jobs >= q.rate_jobs
order by until desc
limit 1
