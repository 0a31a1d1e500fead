-- How many jobs of one queue are in each state, each from its own index, never from the table.
select
  (select count(*) from dibs.jobs where queue_id = $1 and state = 'ready')::integer as ready,
  (select count(*) from dibs.jobs where queue_id = $1 and state = 'leased')::integer as leased,
  coalesce(sum(n) filter (where state = 'scheduled'), 0)::integer as scheduled,
  coalesce(sum(n) filter (where state = 'blocked'), 0)::integer as blocked,
  coalesce(sum(n) filter (where state = 'completed'), 0)::integer as completed,
  coalesce(sum(n) filter (where state = 'cancelled'), 0)::integer as cancelled,
  coalesce(sum(n) filter (where state = 'dead'), 0)::integer as dead
from (
  select state, count(*) as n
  from dibs.jobs
  where queue_id = $1 and state in ('scheduled', 'blocked', 'completed', 'cancelled', 'dead')
  group by state
) as resting;
