-- The free places of a queue with max_ready, as dibs.capacity tells them, but it leaves out the ready jobs below the stored
-- scan floors. Only jobs that committed late can be there, until they are recalled. It runs while dead index entries make
-- the whole count slow (src/enqueue/capacity.ts). A range goes from behind (rank, position) to before next_rank.
with floor (has_keys, rank, position) as (
  select stored.*
  from dibs.scan_floors f
  cross join lateral (
    values (false, f.rank::integer, f.position), (true, f.rank::integer, f.fair_position)
  ) as stored (has_keys, rank, position)
  where f.queue_id = :queue_id and stored.position > -1
  union all
  values (false, -101, 0), (true, -101, 0)
),
range as materialized (
  select *, lead(rank, 1, 101) over (partition by has_keys order by rank) as next_rank
  from floor
)
select greatest(0, q.max_ready - ready.n - blocked.n) as capacity
from dibs.queues q
cross join lateral (
  select count(*)::integer as n
  from range
  cross join lateral (
    select *
    from (
      select
      from dibs.jobs
      where queue_id = :queue_id
        and state = 'ready'
        and fairness_key is null
        and (-priority, position) > (range.rank, range.position)
        and (-priority, position) < (range.next_rank, 0)
      order by queue_id, -priority, position
      limit q.max_ready
    ) as plain
    where not range.has_keys
    union all
    select *
    from (
      select
      from dibs.jobs
      where queue_id = :queue_id
        and dibs.by_index(state = 'ready')
        and fairness_key is not null
        and (-priority, position) > (range.rank, range.position)
        and (-priority, position) < (range.next_rank, 0)
      order by queue_id, -priority, position
      limit q.max_ready
    ) as with_key
    where range.has_keys
  ) as found
) as ready
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs
    where queue_id = :queue_id and state = 'blocked'
    order by queue_id, state, id
    limit q.max_ready
  ) as found
) as blocked
where q.id = :queue_id and q.max_ready is not null;
