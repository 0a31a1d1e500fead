-- Finds groups that have blocked jobs but no head, or fewer heads than the queue allows. It looks at the next :limit groups
-- with blocked jobs: those after the group :after of the queue :queue_id, up to the last group of the queue :to_queue_id.
-- `queue_ids` and `groups` name those that lack heads and are not paused. `last_queue_id` and `last_group` name the last
-- group that it looked at. `narrowing` names all queues with groups that may have too many heads.
-- It goes from group to group. A group costs 7 µs, whether it has one job or 100,000, and whether it shares its queue
-- with other groups or not.
with recursive waiting as (
  (
    select queue_id, group_key
    from dibs.jobs
    where group_key is not null and dibs.by_index(state = 'blocked')
      and (queue_id, group_key) > (:queue_id::integer, :after::text) and queue_id <= :to_queue_id::integer
    order by queue_id, group_key, position
    limit 1
  )
  union all
  select next.queue_id, next.group_key
  from waiting
  cross join lateral (
    select queue_id, group_key
    from dibs.jobs
    where group_key is not null and dibs.by_index(state = 'blocked')
      and (queue_id, group_key) > (waiting.queue_id, waiting.group_key) and queue_id <= :to_queue_id::integer
    order by queue_id, group_key, position
    limit 1
  ) as next
),
page as materialized (
  select queue_id, group_key
  from waiting
  limit (select :limit::integer)
),
looked as materialized (
  select
    page.queue_id,
    page.group_key,
    (
      select count(*)
      from (
        select
        from dibs.jobs
        where queue_id = page.queue_id and group_key = page.group_key and dibs.by_index(is_head)
        order by queue_id, group_key
        limit queue.heads
      ) as head
    ) < queue.heads as is_headless
  from page
  left join lateral (
    -- A paused group needs none, nor has one whose queue is imported.
    select case when is_importing or page.group_key = any (paused_groups) then 0 else group_concurrency end as heads
    from dibs.queues
    where id = page.queue_id
    limit 1
  ) as queue on true
)
select
  array_agg(queue_id) filter (where is_headless) as queue_ids,
  array_agg(group_key) filter (where is_headless) as groups,
  max(queue_id) as last_queue_id,
  (array_agg(group_key order by queue_id desc, group_key desc))[1] as last_group,
  (select array_agg(id) from dibs.queues where is_narrowing and not is_importing) as narrowing
from looked;
