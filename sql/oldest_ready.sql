-- How long the longest waiting ready job of a queue has been ready. Within one priority it is the first in line, so
-- one index probe for each priority in use answers.
with recursive head as (
  (
    select priority, run_at
    from dibs.jobs
    where queue_id = $1 and state = 'ready'
    order by queue_id, -priority, position
    limit 1
  )
  union all
  select below.priority, below.run_at
  from head
  cross join lateral (
    select priority, run_at
    from dibs.jobs
    where queue_id = $1 and state = 'ready' and -priority > -head.priority
    order by queue_id, -priority, position
    limit 1
  ) as below
)
select extract(epoch from now() - min(run_at))::double precision as oldest_ready_age_seconds
from head;
