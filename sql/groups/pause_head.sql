-- Holds the heads of a paused group: one that is ready is blocked. One that is leased or rests goes on, and is blocked when it comes
-- back. Returns them. The group must be in the queue row as it is now. The lock of that keeps a resume waiting.
-- A group without heads that has blocked jobs: see groups/pause_next.sql.
with queue as materialized (
  select id from dibs.queues where id = :queue_id and :group::text = any (paused_groups) for share
),
heads as materialized (
  select j.id
  from dibs.jobs j
  where j.queue_id = (select id from queue) and j.group_key = :group and dibs.by_index(j.is_head)
  order by j.queue_id, j.group_key, j.head_place
)
update dibs.jobs j
set
  is_paused = true,
  state = (case when j.state = 'ready' then 'blocked' else j.state end)::dibs.job_state
where j.queue_id = :queue_id and j.id = any (array(select id from heads)) and j.is_head
returning j.id;
