-- Locks the blocked jobs of a portion of a move, as operations/page.sql does, and the ready heads of their groups, if they match.
-- So a group arrives in its order (`in_order`): its head is not behind jobs that were blocked by it. Each group costs a probe.
with
-- include shared/operation_matching.sql
  order by id
  for update skip locked
),
found as materialized (
  select head.id
  from (select distinct group_key from matching) as asked
  cross join lateral (
    select id
    from dibs.jobs
    where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(is_head)
    order by queue_id, group_key, head_place
    limit (select 1000)
  ) as head
),
heads as materialized (
  select id, unique_key, group_key as headless, group_key, position
  from dibs.jobs
  where queue_id = :queue_id
    and id = any (array(select id from found))
    and state::text = 'ready'
    and
    -- include shared/job_filter.sql
    and (
      -- include shared/there_at_call.sql
      or
      -- include shared/advanced_since_call.sql
    )
  order by id
  for update skip locked
),
moving as materialized (
  select *, 1 as turn from heads
  union all
  select *, 2 from matching
)
select
  (select count(*)::integer from looked) as looked,
  (select id from looked order by id desc limit 1) as last_id,
  array(select id from moving order by id) as ids,
  array(select unique_key from moving order by id) as unique_keys,
  array(select headless from moving where headless is not null) as headless,
  array(select id from moving order by turn, position) as in_order;
