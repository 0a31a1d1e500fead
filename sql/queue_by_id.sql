-- A queue by the id that stands in its jobs' ids.
select id, name, paused, fair, lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds, created_at
from dibs.queues
where id = $1;
