-- Those of the groups :groups of one queue that have blocked jobs. One probe for each group, a third of what groups/advance.sql
-- costs: most groups have no further job when their head is acked.
select asked.group_key as "group"
from unnest(:groups::text[]) as asked (group_key)
where exists (
  select from dibs.jobs
  where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(state = 'blocked')
  order by queue_id, group_key, position
  offset 0
);
