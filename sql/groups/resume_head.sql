-- Lets the heads of a group that is no longer paused go on. One that is blocked is ready, at a new position: the first ones of
-- :positions, in the order of the group.
with heads as materialized (
  select array_agg(id order by id) as ids, array_agg(place order by id) as places
  from (
    select
      id,
      row_number() over (
        order by
          -- include shared/group_order.sql of=head
      )::integer as place
    from (
      select id, leased_at, position
      from dibs.jobs
      where queue_id = :queue_id and group_key = :group::text and dibs.by_index(is_head)
      order by queue_id, group_key, head_place
    ) as head
  ) as head
)
update dibs.jobs j
set
  is_paused = null,
  state = (case when j.state = 'blocked' then 'ready' else j.state end)::dibs.job_state,
  position = case when j.state = 'blocked' then (:positions::bigint[])[(select places[width_bucket(j.id, ids)] from heads)] else j.position end,
  run_at = case when j.state = 'blocked' then now() else j.run_at end
where j.queue_id = :queue_id and j.id = any ((select ids from heads)::uuid[]) and j.is_head;
