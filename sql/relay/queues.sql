-- The queues for which jobs wait here, behind the number :after, up to :limit.
with recursive found (queue_id) as (
  (
    select queue_id from dibs.relay where queue_id > :after order by queue_id limit 1
  )
  union all
  select (
    select r.queue_id from dibs.relay r where r.queue_id > found.queue_id order by r.queue_id limit 1
  )
  from found
  where found.queue_id is not null
)
select queue_id
from found
where queue_id is not null
limit (select :limit::integer);
