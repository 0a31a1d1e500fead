-- The queues that have blocked jobs. ORDER BY and OFFSET keep it one probe for each queue: see maintenance/prunable.sql.
select q.id
from dibs.queues q
where exists (
  select from dibs.jobs j
  where j.queue_id = q.id and j.group_key is not null and dibs.by_index(j.state = 'blocked')
  order by j.queue_id, j.group_key, j.position
  offset 0
)
order by q.id;
