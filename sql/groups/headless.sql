-- Which of the next :limit groups of one queue that have blocked jobs, behind group :after, have no head, and the last one looked at.
-- It goes from group to group, so one of 100,000 jobs costs as much as one of a single job: 7 µs for each.
with recursive waiting as (
  (
    select group_key
    from dibs.jobs
    where queue_id = :queue_id and dibs.by_index(state = 'blocked') and group_key > :after
    order by queue_id, group_key, position
    limit 1
  )
  union all
  select next.group_key
  from waiting
  cross join lateral (
    select group_key
    from dibs.jobs
    where queue_id = :queue_id and dibs.by_index(state = 'blocked') and group_key > waiting.group_key
    order by queue_id, group_key, position
    limit 1
  ) as next
),
page as materialized (
  select group_key
  from waiting
  limit (select :limit::integer)
)
select
  array_agg(group_key) filter (where not exists (
    select from dibs.jobs
    where queue_id = :queue_id and group_key = page.group_key and dibs.by_index(is_head)
    order by queue_id, group_key
    offset 0
  )) as headless,
  max(group_key) as last
from page;
