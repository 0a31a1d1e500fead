-- Inserts jobs into one queue, in the order given. No row comes back when the queue is gone.
-- One row without an id comes back for all jobs that are ready, as they differ only in what was sent.
-- The key-share lock keeps a DELETE of the queue out until this commits. The statement takes it once, not once for each
-- row. It does not wait for other enqueues, a pause or a change of configuration, and does not hold them up.
--
-- A job of :leads becomes the head of its group at once, if no head and no blocked job is in sight, and the group is not paused,
-- nor the queue imported.
-- A pause that commits at this moment waits for this statement: see src/groups/pause.ts. :leads has the jobs that
-- come first in their groups here, in the order of the ids, which ascend. It is null when no job has a group, and in long
-- transactions. Other jobs of groups are inserted blocked, and src/groups/heads.ts advances their groups after the commit.
-- Another replica may make another job the head at the same moment. The second of the two meets the index jobs_head, and
-- its transaction runs again: then it sees the first. Each group costs two probes: see groups/advance.sql.
--
-- docs/decisions/0060-ways-in.md says which statement inserts which jobs.
with queue as materialized (
  select id, paused_groups, is_importing from dibs.queues where id = :queue_id for key share
),
new as (
  select
    new.*,
    null::bigint as position,
    (:batches::uuid[])[width_bucket(new.id, :ids::uuid[])] as batch_id,
    null::text as own_key,
    :leads::boolean[] is not null
      and (:leads::boolean[])[width_bucket(new.id, :ids::uuid[])]
      and new.group_key <> all ((select paused_groups from queue)::text[])
      and not (select is_importing from queue)
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
