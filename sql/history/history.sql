-- What is kept of a job's history, the newest :limit rows, oldest first.
select at, event, state, attempt, deliveries, worker, error, run_at, leased_at, actor
from (
  select * from dibs.history where job_id = :id and queue_id = :queue_id order by id desc limit :limit
) as newest
order by id;
