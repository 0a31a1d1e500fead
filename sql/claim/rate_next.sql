-- In how many seconds the rate limit of a queue allows another job. If it allows one now, there is no row. Runs after
-- claim/limited.sql, in the same transaction.
select
  extract(epoch from last.until + q.rate_seconds * interval '1 second' - statement_timestamp())::double precision as seconds
from dibs.queues q
cross join lateral (
  -- include shared/rate_limit_opens.sql
) as last
where q.id = :queue_id;
