-- Inserts jobs as enqueue/insert.sql does, when some of them have groups. A job of :leads becomes the head of its group at
-- once, if no head and no blocked job is in sight. Other jobs of groups are inserted blocked, and src/groups/heads.ts
-- advances their groups after the commit.
-- Another replica may make another job the head at the same moment. The second of the two meets the index jobs_head, and
-- its transaction runs again: then it sees the first.
-- The ids ascend. :leads has the jobs that come first in their groups here. Each group costs two probes: see groups/advance.sql.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
new as (
  select
    new.*, null::bigint as position,
    coalesce((:leads::boolean[])[width_bucket(new.id, :ids::uuid[])], false)
      and not exists (
        select from dibs.jobs
        where queue_id = :queue_id and group_key = new.group_key and dibs.by_index(is_head)
        order by queue_id, group_key
        offset 0
      )
      and not exists (
        select from dibs.jobs
        where queue_id = :queue_id and group_key = new.group_key and dibs.by_index(state = 'blocked')
        order by queue_id, group_key, position
        offset 0
      )
    as is_head
  from
  -- include shared/new_jobs.sql
),
inserted as (
  -- include shared/insert_jobs.sql
  returning id, state, run_at, created_at
)
select distinct case when state <> 'ready' then id end as id, state, run_at, created_at
from inserted;
