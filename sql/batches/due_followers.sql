-- Enqueues followers that could not be enqueued in the commit that ended their batch. Returns how many it has tried.
select count(dibs.enqueue_follower(follower))::integer as tried
from (
  select *
  from dibs.batch_followers
  where due_at <= now()
  order by due_at
  limit 10
  for update skip locked
) as follower;
