-- The due look (src/maintenance/rest.ts): when each of these duties is due next, in ms, and less than 0 for what is
-- due. It tells the other replicas when the first one is, as a notification of :self, also when there is none: then a
-- row of nulls comes back. It walks over no index entries of leases and schedules that are dealt with: :leases_from and
-- :scheduled_from are scan horizons (src/maintenance/scanHorizon.ts).
with next_due (duty, at) as (
  select 'rescue', (
    select lease_expires_at
    from dibs.jobs
    where state = 'leased' and lease_expires_at > :leases_from::timestamptz
    order by lease_expires_at
    limit 1
  )
  union all
  select 'promote', (
    select run_at
    from dibs.jobs
    where state = 'scheduled' and run_at > :scheduled_from::timestamptz
    order by run_at
    limit 1
  )
  union all
  select 'expire', (
    select expires_at
    from dibs.jobs
    where state in ('scheduled', 'ready', 'blocked') and expires_at > '-infinity'
    order by expires_at
    limit 1
  )
  union all
  select 'schedules',
    -- include shared/next_tick.sql
  union all
  select 'operations', (select min(worked_at) from dibs.operations where state = 'running')
  union all
  -- Whoever works on a relocation says until when. After that time, nobody does.
  select 'relocations', (
    select greatest(worked_until, now())
    from dibs.relocations
    where phase <> 'ended'
    order by worked_until
    limit 1
  )
  union all
  -- Jobs that a worker has may keep a cancelled batch open for long. Nothing is due for it then.
  select 'batches', least(
    (select now() from dibs.batch_ends limit 1),
    (select due_at from dibs.batch_followers where due_at is not null order by due_at limit 1),
    (
      select now()
      from dibs.batches b
      where b.cancelled_at is not null
        and b.finished_at is null
        and
        -- include shared/has_waiting_jobs.sql
      limit 1
    )
  )
  union all
  select 'prune_jobs', (
    select min(first.finished_at + kept.seconds * interval '1 second')
    from dibs.queues q
    cross join lateral (
      -- include shared/kept_states.sql
    ) as kept (state, seconds)
    cross join lateral (
      select j.finished_at
      from dibs.jobs j
      where j.queue_id = q.id
        and j.state in ('completed', 'cancelled', 'dead')
        and j.state = kept.state
      order by j.queue_id, j.state, j.finished_at
      limit 1
    ) as first
  )
),
-- Less than a day, so that no timer is too long for Node.
seen as materialized (
  select duty, least(extract(epoch from at - now()) * 1000, 86400000)::double precision as in_ms
  from next_due
  where at is not null
),
told as materialized (
  select pg_notify('dibs', concat_ws(' ', 'looked', :self::text, (select ceil(min(greatest(in_ms, 0))) from seen)))
)
select seen.duty, seen.in_ms
from told
left join seen on true;
