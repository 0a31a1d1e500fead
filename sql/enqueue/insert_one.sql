-- Inserts one job into one queue, as insert.sql does without :leads. Where few producers are, most enqueues are like
-- this, and starting the nodes of insert.sql takes longer than the rest.
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
