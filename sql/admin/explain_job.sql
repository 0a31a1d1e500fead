-- The facts that decide why a job is not running. The jobs that go before it are counted up to :max_ahead. Each subquery
-- costs something only for a job in the state that it is about.
select
  j.id, j.state, j.attempt, j.max_attempts, j.run_at, j.lease_expires_at, j.finished_at, j.worker, j.last_error,
  j.cancel_requested, j.group_key as "group", j.fairness_key, j.expires_at, j.expires_at <= coalesce(j.finished_at, now()) as is_over,
  q.paused,
  head.id as head_id, head.state as head_state,
  least(behind.jobs + higher.jobs + own.jobs + others.jobs, :max_ahead::integer) as ahead
from dibs.jobs j
cross join dibs.queues q
left join lateral (
  select id, state
  from dibs.jobs
  where j.state = 'blocked' and queue_id = :queue_id and group_key = j.group_key and dibs.by_index(is_head)
  order by queue_id, group_key
  limit 1
) as head on true
cross join lateral (
  select count(*)::integer as jobs
  from (
    select
    from dibs.jobs
    where j.state = 'blocked' and queue_id = :queue_id and group_key = j.group_key and dibs.by_index(state = 'blocked') and position < j.position
    order by queue_id, group_key, position
    limit (select :max_ahead::integer)
  ) as found
) as behind
cross join lateral (
  select count(*)::integer as jobs
  from (
    (
      select
      from dibs.jobs
      where j.state = 'ready' and queue_id = :queue_id and state = 'ready' and fairness_key is null
        and -priority < -j.priority
      order by queue_id, -priority, position
      limit (select :max_ahead::integer)
    )
    union all
    (
      select
      from dibs.jobs
      where j.state = 'ready' and queue_id = :queue_id and state = 'ready' and fairness_key is not null
        and -priority < -j.priority
      order by queue_id, -priority, fairness_key, position
      limit (select :max_ahead::integer)
    )
  ) as found
) as higher
cross join lateral (
  select count(*)::integer as jobs
  from (
    (
      select
      from dibs.jobs
      where j.state = 'ready' and j.fairness_key is null
        and queue_id = :queue_id and state = 'ready' and fairness_key is null
        and -priority = -j.priority and position < j.position
      order by queue_id, -priority, position
      limit (select :max_ahead::integer)
    )
    union all
    (
      select
      from dibs.jobs
      where j.state = 'ready' and queue_id = :queue_id and state = 'ready' and fairness_key = j.fairness_key
        and -priority = -j.priority and position < j.position
      order by queue_id, -priority, fairness_key, position
      limit (select :max_ahead::integer)
    )
  ) as found
) as own
-- Keys alternate: before this job, each other key of its priority is served as often as its own key, and once more if
-- its turn comes before that of its own key. The turns begin behind the fairness cursor (claim/fair.sql): the keys behind
-- it, then the jobs without a key, then the keys up to it.
cross join lateral (
  select coalesce((:cursor_keys::text[])[array_position(:cursor_ranks::integer[], -j.priority)], '') collate "C" as name
) as cursor
cross join lateral (
  with recursive key (name) as (
    select '' collate "C" where j.state = 'ready'
    union all
    select next.name
    from key
    cross join lateral (
      select fairness_key as name
      from dibs.jobs
      where queue_id = :queue_id and state = 'ready' and fairness_key is not null
        and -priority = -j.priority and fairness_key > key.name
      order by queue_id, -priority, fairness_key, position
      limit 1
    ) as next
  )
  select count(*)::integer as jobs
  from (
    select
    from key
    cross join lateral (
      select own.jobs + (
        (case when key.name = '' then 1 when key.name > cursor.name then 0 else 2 end, key.name)
        < (
          case when j.fairness_key is null then 1 when j.fairness_key > cursor.name then 0 else 2 end,
          coalesce(j.fairness_key, '') collate "C"
        )
      )::integer as jobs
    ) as turns
    cross join lateral (
      (
        select
        from dibs.jobs
        where key.name = '' and queue_id = :queue_id and state = 'ready' and fairness_key is null
          and -priority = -j.priority
        order by queue_id, -priority, position
        limit turns.jobs
      )
      union all
      (
        select
        from dibs.jobs
        where queue_id = :queue_id and state = 'ready' and fairness_key = key.name
          and -priority = -j.priority
        order by queue_id, -priority, fairness_key, position
        limit turns.jobs
      )
    ) as job
    where key.name <> coalesce(j.fairness_key, '')
    limit (select :max_ahead::integer)
  ) as found
) as others
where j.queue_id = :queue_id and j.id = :id and q.id = :queue_id;
