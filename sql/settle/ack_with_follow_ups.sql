-- Deletes done jobs as settle/ack.sql does, and inserts their follow-ups into the queue :next_queue_id. Nothing happens
-- when that queue is gone. A job that has a trace is left alone where its follow-ups would need that (:needs_trace):
-- nobody has looked at it. src/settle/ackWithFollowUps.ts does.
-- A row comes back for each acked job. One row without an id comes back for all follow-ups that are ready, as in
-- enqueue/insert.sql.
-- The ids ascend. :follows has the job that each of :ids follows: see shared/batch_by_id.sql.
-- IS TRUE makes the look-up of acked jobs a hash. As a join, it would compare each follow-up with each of them.
with queue as materialized (
  select id from dibs.queues where id = :next_queue_id for key share
),
acked as (
  delete from dibs.jobs j
  where j.queue_id = :queue_id
    and j.id = any (:acked_ids::uuid[])
    and j.id between (:acked_ids::uuid[])[1] and (:acked_ids::uuid[])[cardinality(:acked_ids::uuid[])]
    and j.lease_token = (:lease_tokens::uuid[])[width_bucket(j.id, :acked_ids::uuid[])]
    and j.state <> 'completed'
    and (j.awaited_until is null or j.awaited_until <= now())
    and not (
      (:needs_trace::boolean[])[width_bucket(j.id, :acked_ids::uuid[])]
      and strpos(j.headers::text, '"traceparent"') > 0
    )
    and exists (select from queue)
  returning j.id, j.group_key
),
new as (
  select new.*, null::bigint as position, null::uuid as batch_id, null::text as own_key, false as is_head
  from
  -- include shared/new_jobs.sql
  where (
    (:follows::uuid[])[width_bucket(new.id, :ids::uuid[])] in (select id from acked)
  ) is true
),
inserted as (
  -- include shared/insert_jobs.sql
  returning id, state, run_at, created_at
)
select true as is_acked, id, group_key as "group", null::dibs.job_state as state, null::timestamptz as run_at,
  null::timestamptz as created_at
from acked
union all
select distinct false, case when state <> 'ready' then id end, null, state, run_at, created_at
from inserted;
