-- Inserts one job without a group into one queue, as insert.sql does. Most enqueues beside few others are like this.
-- Starting the nodes of insert.sql takes longer than writing one row.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
new as (
  select
    new.*,
    null::bigint as position,
    (:batches::uuid[])[1] as batch_id,
    null::text as own_key,
    false as is_head
  from
  -- include shared/new_job.sql
)
-- include shared/insert_jobs.sql
returning case when state <> 'ready' then id end as id, state, run_at, created_at;
