-- Inserts jobs into one queue, in the order given. No row comes back when the queue is gone.
-- One row without an id comes back for all jobs that are ready, as they differ only in what was sent.
-- The key-share lock keeps a DELETE of the queue out until this commits. The statement takes it once, not once for each
-- row. It does not wait for other enqueues, a pause or a change of configuration, and does not hold them up.
-- Jobs with unique keys, and jobs that are enqueued by SQL, go through sql/functions/insert_unique.sql: ON CONFLICT costs
-- time, and the jobs here do not need it.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
new as (
  select new.*, null::bigint as position, false as is_head
  from
  -- include shared/new_jobs.sql
),
inserted as (
  -- include shared/insert_jobs.sql
  returning id, state, run_at, created_at
)
select distinct case when state <> 'ready' then id end as id, state, run_at, created_at
from inserted;
