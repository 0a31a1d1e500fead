-- Inserts jobs into one queue, in the order given. No row comes back when the queue is gone.
-- A job of a group arrives blocked. What no job of them has may be null as a whole: unnest pads it.
-- Those that are ready differ in nothing but what was sent: one row without an id comes back for all of them.
-- The key-share lock keeps a DELETE of the queue out until this commits; it is taken once, not once for each row,
-- and neither waits for nor hinders other enqueues, a pause or a change of configuration.
-- The function dibs.insert_jobs has this text as its body, with the line behind "only there:" (src/functions.ts): jobs
-- with unique keys, and those enqueued by SQL, go through it. ON CONFLICT costs something, and the others have no use for it.
with queue as materialized (
  select id from dibs.queues where id = $1 for key share
),
inserted as (
  insert into dibs.jobs
    (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, backoff, headers, payload,
      unique_key, group_key, fairness_key, expires_at, awaited_until, position)
  select
    $1,
    new.id,
    (case
      when due.run_at > now() then 'scheduled'
      when new.group_key is not null then 'blocked'
      else 'ready'
    end)::dibs.job_state,
    greatest(due.run_at, now()),
    new.priority,
    new.max_attempts,
    octet_length(new.payload),
    new.backoff::json,
    new.headers::json,
    new.payload::json,
    new.unique_key,
    new.group_key,
    new.fairness_key,
    now() + new.expires_in_seconds * interval '1 second',
    now() + new.awaited_seconds * interval '1 second',
    coalesce(new.position, nextval('dibs.positions'))
  from queue
  cross join unnest(
    $2::uuid[], $3::double precision[], $4::timestamptz[], $5::smallint[], $6::integer[],
    $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::double precision[], $14::double precision[],
    $15::bigint[]
  ) as new (id, delay_seconds, run_at, priority, max_attempts, backoff, headers, payload,
    unique_key, group_key, fairness_key, expires_in_seconds, awaited_seconds, position)
  cross join lateral (
    select coalesce(new.run_at, now() + new.delay_seconds * interval '1 second') as run_at
  ) as due
  -- only there: on conflict (queue_id, unique_key) where unique_key is not null and state in ('scheduled', 'ready', 'blocked', 'leased') do nothing
  returning id, state, run_at, created_at
)
select distinct case when state <> 'ready' then id end as id, state, run_at, created_at
from inserted;
