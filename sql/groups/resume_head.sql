-- Lets the head of a group that is no longer paused go on. One that is blocked is ready, at a new position.
with head as materialized (
  select j.id
  from dibs.jobs j
  where j.queue_id = :queue_id and j.group_key = :group::text and dibs.by_index(j.is_head)
  order by j.queue_id, j.group_key
  limit 1
)
update dibs.jobs j
set
  is_paused = null,
  state = (case when j.state = 'blocked' then 'ready' else j.state end)::dibs.job_state,
  position = case when j.state = 'blocked' then :position::bigint else j.position end,
  run_at = case when j.state = 'blocked' then now() else j.run_at end
where j.queue_id = :queue_id and j.id = (select id from head) and j.is_head;
