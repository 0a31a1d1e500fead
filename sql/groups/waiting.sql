-- Which of the groups :groups of one queue have blocked jobs. Most have none when their head is acked. So a probe for
-- each group is made first: it costs a third of what groups/advance.sql does.
select asked.group_key as "group"
from unnest(:groups::text[]) as asked (group_key)
where exists (
  select from dibs.jobs
  where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(state = 'blocked')
  order by queue_id, group_key, position
  offset 0
);
