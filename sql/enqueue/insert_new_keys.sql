-- Inserts jobs, some of which have unique keys, in the order of their ids. No row comes back when the queue is gone.
-- A job whose key an unfinished job holds is not inserted: that job comes back. One row without a `new_id` comes back for
-- all jobs that are inserted ready. No key may come twice.
-- The look at the holders and the insert are not one moment. The index jobs_unique refuses a key that another job took in
-- between, and enqueue/check_windows.sql, in the same transaction, a key that an open window holds. Then
-- enqueue/insert_unique.sql does the work, which looks as often as it has to. It costs twice as much.
-- All statements take keys in one order, so that no two of them can deadlock.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
asked as materialized (
  select
    new.*, nextval('dibs.positions') as position, null::uuid as batch_id, false as is_head,
    case when new.unique_key = any (:freeing::text[]) then new.unique_key end as own_key
  from
  -- include shared/new_jobs.sql
),
held as materialized (
  select holder.*
  from asked
  cross join lateral (
    select *
    from dibs.jobs
    where queue_id = :queue_id
      and unique_key = asked.unique_key
      and state in ('scheduled', 'ready', 'blocked', 'leased')
    order by queue_id, unique_key
    limit 1
  ) as holder
),
new as (
  select *
  from asked
  where (unique_key in (select unique_key from held)) is not true
  order by unique_key collate "C"
),
inserted as (
  -- include shared/insert_jobs.sql
  returning id, state, run_at, created_at
),
decided as (
  select distinct
    case when state <> 'ready' then id end as new_id,
    state as new_state,
    run_at as new_run_at,
    created_at as new_created_at
  from inserted
)
select
  decided.*,
  j.state, j.finished_at, j.result,
  -- include shared/job_columns.sql
from decided
full join held as j on false;
