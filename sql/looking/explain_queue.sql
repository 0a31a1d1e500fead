-- What a claim from a queue finds now: the first ready job. If there is none: the first scheduled job, a blocked job and the
-- lease that runs out first. Leases and scheduled jobs of all queues stand in the order of their times. So the first lease is found by
-- a walk over those of others. A queue with few scheduled jobs may have its first one far behind those of the others: so these are
-- looked at one by one. Of a queue with many, it walks up to 10,000 of all queues. When the queue has none among these, its first one
-- comes after the last of them (`not_before`).
-- `has_keys` says that jobs of the first priority have fairness keys. Keys alternate, so nobody can tell which job is next.
select
  ready.id as ready_id,
  ready.has_keys,
  scheduled.id as scheduled_id,
  scheduled.run_at,
  scheduled.not_before,
  blocked.id as blocked_id,
  leased.id as leased_id,
  leased.lease_expires_at
from (values (1)) as one
left join lateral (
  select id, has_keys
  from (
    (
      select id, -priority as rank, false as has_keys
      from dibs.jobs
      where queue_id = :queue_id and state = 'ready' and fairness_key is null
        and (expires_at is null or expires_at > now())
      order by queue_id, -priority, position
      limit 1
    )
    union all
    (
      select id, -priority as rank, true as has_keys
      from dibs.jobs
      where queue_id = :queue_id and state = 'ready' and fairness_key is not null
        and (expires_at is null or expires_at > now())
      order by queue_id, -priority, fairness_key, position
      limit 1
    )
  ) as found
  order by rank, has_keys desc
  limit 1
) as ready on true
left join lateral (
  select id, run_at, null::timestamptz as not_before
  from (
    select id, run_at, count(*) over () as n
    from (
      select id, run_at
      from dibs.jobs
      where ready.id is null and queue_id = :queue_id and state = 'scheduled'
      order by queue_id, state, id
      limit 1000
    ) as found
  ) as few
  where n < 1000
  union all
  (
    with walked as materialized (
      select run_at, queue_id, position
      from dibs.jobs
      where ready.id is null and state = 'scheduled'
        and exists (
          select
          from dibs.jobs
          where queue_id = :queue_id and state = 'scheduled'
          order by queue_id, state, id
          offset 999
          limit 1
        )
      order by run_at, queue_id, position
      limit (select 10000)
    )
    (
      select job.id, job.run_at, null::timestamptz
      from (select * from walked where queue_id = :queue_id order by run_at, position limit 1) as first
      cross join lateral (
        select id, run_at
        from dibs.jobs
        where state = 'scheduled' and run_at = first.run_at and queue_id = :queue_id and position = first.position
        limit 1
      ) as job
    )
    union all
    select null, null, max(run_at) from walked having count(*) filter (where queue_id = :queue_id) = 0 and count(*) > 0
  )
  order by run_at
  limit 1
) as scheduled on true
left join lateral (
  select id
  from dibs.jobs
  where ready.id is null and queue_id = :queue_id and state = 'blocked'
  order by queue_id, state, id
  limit 1
) as blocked on true
left join lateral (
  select id, lease_expires_at
  from dibs.jobs
  where ready.id is null and queue_id = :queue_id and state = 'leased'
  order by lease_expires_at, queue_id
  limit 1
) as leased on true;
