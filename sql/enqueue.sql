-- Inserts jobs into one queue, in the order given. No row comes back when the queue is gone.
-- Those that are ready differ in nothing but what was sent: one row without an id comes back for all of them.
-- The key-share lock keeps a DELETE of the queue out until this commits; it is taken once, not once for each row,
-- and neither waits for nor hinders other enqueues, a pause or a change of configuration.
with queue as materialized (
  select id from dibs.queues where id = $1 for key share
),
inserted as (
  insert into dibs.jobs
    (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, backoff, headers, payload)
  select
    $1,
    new.id,
    (case when due.run_at > now() then 'scheduled' else 'ready' end)::dibs.job_state,
    greatest(due.run_at, now()),
    new.priority,
    new.max_attempts,
    octet_length(new.payload),
    new.backoff::json,
    new.headers::json,
    new.payload::json
  from queue
  cross join unnest(
    $2::uuid[], $3::double precision[], $4::timestamptz[], $5::smallint[], $6::integer[],
    $7::text[], $8::text[], $9::text[]
  ) as new (id, delay_seconds, run_at, priority, max_attempts, backoff, headers, payload)
  cross join lateral (
    select coalesce(new.run_at, now() + new.delay_seconds * interval '1 second') as run_at
  ) as due
  returning id, state, run_at, created_at
)
select distinct case when state <> 'ready' then id end as id, state, run_at, created_at
from inserted;
