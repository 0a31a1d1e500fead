-- Holds the head of a paused group: if it is ready, it is blocked. One that is leased or rests goes on, and is blocked when it comes
-- back. Returns it. The group must be in the queue row as it is now. The lock of that keeps a resume waiting.
-- A group without a head that has blocked jobs: see groups/pause_next.sql.
with queue as materialized (
  select id from dibs.queues where id = :queue_id and :group::text = any (paused_groups) for share
),
head as materialized (
  select j.id
  from dibs.jobs j
  where j.queue_id = (select id from queue) and j.group_key = :group and dibs.by_index(j.is_head)
  order by j.queue_id, j.group_key
  limit 1
)
update dibs.jobs j
set
  is_paused = true,
  state = (case when j.state = 'ready' then 'blocked' else j.state end)::dibs.job_state
where j.queue_id = :queue_id and j.id = (select id from head) and j.is_head
returning j.id;
