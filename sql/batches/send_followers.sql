-- Writes due followers down whose queue lives in another database by now, and forgets them: it was deleted, and made again there.
-- One that is in a batch itself leaves it. Without a `max_attempts` it has 0: its queue decides there. It takes at most as many as it is given ids.
with due as materialized (
  select *
  from dibs.batch_followers
  where due_at <= now() and queue = :queue
  order by due_at
  limit cardinality(:ids::uuid[])
  for update skip locked
),
forgotten as (
  delete from dibs.batch_followers f
  using due
  where f.batch_id = due.batch_id and f.on_success = due.on_success
)
insert into dibs.relay (id, queue_id, queue, job, bytes, on_duplicate, unique_until)
select
  job.id, :queue_id, due.queue,
  row(
    job.id, due.delay_seconds, due.run_at, due.priority, coalesce(due.max_attempts, 0), due.backoff, job.headers, due.payload,
    due.unique_key, due.unique_for_seconds, due.group_key, due.fairness_key, due.expires_in_seconds, null
  )::dibs.new_job,
  octet_length(due.payload::text) + octet_length(job.headers::text),
  due.on_duplicate, due.unique_until
from (select *, row_number() over () as place from due) as due
cross join lateral (
  select
    (:ids::uuid[])[due.place] as id,
    -- include shared/follower_headers.sql of=due
    as headers
) as job
returning queue_id;
