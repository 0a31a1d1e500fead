-- Notes a job to enqueue at the end of a batch. A batch that it joins itself is held.
insert into dibs.batch_followers (
  batch_id, on_success, queue, delay_seconds, run_at, priority, max_attempts, backoff, headers, payload,
  unique_key, unique_for_seconds, group_key, fairness_key, expires_in_seconds, on_duplicate, unique_until, joins
)
values (
  :batch_id, :on_success, :queue, :delay_seconds, :run_at, :priority, :max_attempts, :backoff::json, :headers::json, :payload::json,
  :unique_key, :unique_for_seconds, :group, :fairness_key, :expires_in_seconds, :on_duplicate, :unique_until, :joins
);
