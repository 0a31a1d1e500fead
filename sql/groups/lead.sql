-- Makes the jobs :ids, which were inserted just now, the heads of their groups :groups: those that no head and no job of their
-- group is before, of groups that are not paused. It is an advance (groups/advance.sql), but the jobs keep their positions: so a
-- group stands where its first job arrived. The caller sees to scan floors that have passed them: see src/groups/lead.ts.
-- The ids ascend: see shared/batch_by_id.sql. Each group costs two probes: see groups/advance.sql.
with found as materialized (
  select asked.id
  from unnest(:ids::uuid[], :groups::text[]) as asked (id, group_key)
  cross join (select paused_groups as all_paused from dibs.queues where id = :queue_id and not is_importing) as queue
  cross join lateral (
    select id
    from dibs.jobs
    where asked.group_key <> all (queue.all_paused)
      and queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(state = 'blocked')
    order by queue_id, group_key, position
    limit 1
  ) as first
  where first.id = asked.id
    and not exists (
      select from dibs.jobs
      where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(is_head)
      order by queue_id, group_key
      offset 0
    )
)
update dibs.jobs j
set state = 'ready', is_head = true, head_place = 1
where
  -- include shared/batch_by_id.sql
  and j.id = any (array(select id from found))
  -- Compared as a text, so that no index but the primary key seems to fit.
  and j.state::text = 'blocked'
  and not j.is_head
returning j.id;
