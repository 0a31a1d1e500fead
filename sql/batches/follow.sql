-- Notes a job to enqueue at the end of a batch. It holds the queue of the job until the commit, so that this is not deleted and does
-- not leave the database meanwhile. No row comes back when it is gone.
insert into dibs.batch_followers (
  batch_id, on_success, queue, delay_seconds, run_at, priority, max_attempts, backoff, headers, payload,
  unique_key, unique_for_seconds, group_key, fairness_key, expires_in_seconds, on_duplicate, unique_until, joins
)
select
  :batch_id, :on_success, :queue, :delay_seconds, :run_at, :priority, :max_attempts, :backoff::json, :headers::json, :payload::json,
  :unique_key, :unique_for_seconds, :group, :fairness_key, :expires_in_seconds, :on_duplicate, :unique_until, :joins
from dibs.queues q
where q.name = :queue
for key share
returning batch_id;
