-- Counts the jobs of each queue by state, up to :limits of them from each index (null: all). Also tells for how long
-- the ready job that has waited longest has been ready. `cut` says that there may be more jobs.
-- Each count is a scan of an index alone, whatever the statistics say. Bounds that the planner cannot
-- see let it expect few rows, and ORDER BY names an index. Without them it read the table itself of a queue that was
-- not vacuumed yet.
-- :above_floors leaves out the ready jobs below the stored scan floors, as enqueue/capacity_above_floors.sql does. Only
-- jobs that committed late can be there, until they are recalled. And index entries of jobs that are gone, up to
-- millions while another transaction is old. Without it, the index alone is enough: it has no column for the priority,
-- only an expression.
-- The leases of all queues stand together, in the order of their expiry. So one scan counts them all. It begins at
-- :leases_from, the scan horizon of the sweeper: leases that ended before are over.
-- Within one priority, the job that has waited longest is the first in the order of arrival. So one index probe finds
-- it, for each priority in use, with fairness keys and without.
-- 100 queues of 100,000 jobs: 2 ms with :limits all 0; 1 s with null, and 3 s before they are vacuumed.
with leased as materialized (
  select queue_id, count(*)::integer as n
  from dibs.jobs
  where state = 'leased'
    and lease_expires_at between (select :leases_from::timestamptz) and (select 'infinity'::timestamptz)
    and queue_id = any (:queue_ids::integer[])
  group by queue_id
)
select
  queue.id,
  coalesce(greatest(ready.n, resting.n) >= queue.most, false) as cut,
  resting.scheduled,
  ready.n as ready,
  resting.blocked,
  coalesce(leased.n, 0) as leased,
  resting.completed,
  resting.cancelled,
  resting.dead,
  extract(epoch from now() - ready.oldest_run_at)::double precision as oldest_ready_age_seconds
from unnest(:queue_ids::integer[], :limits::integer[]) as queue (id, most)
cross join lateral (
  -- A range goes from behind (rank, position) to before next_rank, and for jobs with fairness keys from behind (rank,
  -- fair_position).
  with range as materialized (
    select *, lead(rank, 1, 101) over (order by rank) as next_rank
    from (
      select -101 as rank, 0::bigint as position, 0::bigint as fair_position
      union all
      select rank, position, fair_position from dibs.scan_floors where queue_id = queue.id and :above_floors::boolean
    ) as floor
  )
  select counted.n, oldest.run_at as oldest_run_at
  from (
    select count(*)::integer as n
    from (
      (
        select
        from range
        cross join lateral (
          select
          from dibs.jobs
          where queue_id = queue.id and state = 'ready' and fairness_key is null
            and (-priority, position) > (range.rank, range.position)
            and (-priority, position) < (range.next_rank, 0)
          order by queue_id, -priority, position
          limit queue.most
        ) as plain
        where :above_floors::boolean
        limit queue.most
      )
      union all
      (
        select
        from range
        cross join lateral (
          select
          from dibs.jobs
          where queue_id = queue.id and dibs.by_index(state = 'ready') and fairness_key is not null
            and (-priority, position) > (range.rank, range.fair_position)
            and (-priority, position) < (range.next_rank, 0)
          order by queue_id, -priority, position
          limit queue.most
        ) as with_key
        where :above_floors::boolean
        limit queue.most
      )
      union all
      (
        select
        from dibs.jobs
        where not :above_floors::boolean
          and queue_id = queue.id and state = 'ready' and fairness_key is null
          and position between (select 0) and (select 9223372036854775807)
        limit queue.most
      )
      union all
      (
        select
        from dibs.jobs
        where not :above_floors::boolean
          and queue_id = queue.id and state = 'ready' and fairness_key is not null
          and position between (select 0) and (select 9223372036854775807)
        limit queue.most
      )
      limit queue.most
    ) as found
  ) as counted
  cross join (
    select min(first.run_at) as run_at
    from range
    cross join lateral (
      with recursive head as (
        (
          select priority, run_at
          from dibs.jobs
          where queue_id = queue.id and state = 'ready' and fairness_key is null
            and (-priority, position) > (range.rank, range.position)
            and (-priority, position) < (range.next_rank, 0)
          order by queue_id, -priority, position
          limit 1
        )
        union all
        select below.priority, below.run_at
        from head
        cross join lateral (
          select priority, run_at
          from dibs.jobs
          where queue_id = queue.id and state = 'ready' and fairness_key is null
            and -priority > -head.priority
            and (-priority, position) < (range.next_rank, 0)
          order by queue_id, -priority, position
          limit 1
        ) as below
      ),
      keyed as (
        (
          select priority, run_at
          from dibs.jobs
          where queue_id = queue.id and dibs.by_index(state = 'ready') and fairness_key is not null
            and (-priority, position) > (range.rank, range.fair_position)
            and (-priority, position) < (range.next_rank, 0)
          order by queue_id, -priority, position
          limit 1
        )
        union all
        select below.priority, below.run_at
        from keyed
        cross join lateral (
          select priority, run_at
          from dibs.jobs
          where queue_id = queue.id and dibs.by_index(state = 'ready') and fairness_key is not null
            and -priority > -keyed.priority
            and (-priority, position) < (range.next_rank, 0)
          order by queue_id, -priority, position
          limit 1
        ) as below
      )
      select run_at from head union all select run_at from keyed
    ) as first
  ) as oldest
) as ready
cross join lateral (
  select
    count(*)::integer as n,
    count(*) filter (where state = 'scheduled')::integer as scheduled,
    count(*) filter (where state = 'blocked')::integer as blocked,
    count(*) filter (where state = 'completed')::integer as completed,
    count(*) filter (where state = 'cancelled')::integer as cancelled,
    count(*) filter (where state = 'dead')::integer as dead
  from (
    select state
    from dibs.jobs
    where queue_id = queue.id and state in ('scheduled', 'blocked', 'completed', 'cancelled', 'dead')
    order by queue_id, state, id
    limit queue.most
  ) as found
) as resting
left join leased on leased.queue_id = queue.id;
