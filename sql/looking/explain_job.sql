-- The facts that decide why a job is not running. The jobs that go before it are counted up to :max_ahead, and of up to :max_keys
-- other fairness keys. `is_least` says that there may be more. Each count leaves less for the next ones, so all of them together
-- are bounded. Each subquery costs something only for a job in the state that it is about.
select
  j.id, j.state, j.attempt, j.max_attempts, j.run_at, j.lease_expires_at, j.lease_expires_at <= now() as lease_is_over, j.finished_at,
  j.worker, j.last_error, j.moved_to,
  j.cancel_requested, j.group_key as "group", j.fairness_key, j.expires_at, j.expires_at <= coalesce(j.finished_at, now()) as is_over,
  q.paused, q.is_importing, j.group_key = any (q.paused_groups) as group_paused,
  heads.jobs as heads, heads.first_id as head_id, heads.first_state as head_state,
  least(behind.jobs + higher.jobs + own.jobs + others.jobs, :max_ahead::integer) as ahead,
  behind.jobs + higher.jobs + own.jobs + others.jobs >= :max_ahead::integer or others.is_cut as is_least
from dibs.jobs j
cross join dibs.queues q
-- The heads before a blocked job. Those before a ready one count if the line of the queue has one of them behind it: this one waits for
-- it (shared/claim_firsts.sql).
cross join lateral (
  select
    (array_agg(id order by place))[1] as first_id,
    (array_agg(state order by place))[1] as first_state,
    (case when j.state = 'blocked' or bool_or(is_behind) then count(*) else 0 end)::integer as jobs
  from (
    select
      id,
      state,
      (priority, fairness_key) is distinct from (j.priority, j.fairness_key) or position > j.position as is_behind,
      row_number() over (
        order by
          -- include shared/group_order.sql of=head
      ) as place
    from (
      select *
      from dibs.jobs
      where queue_id = :queue_id and group_key = j.group_key and dibs.by_index(is_head)
      order by queue_id, group_key, head_place
    ) as head
    where j.state = 'blocked' or (
      j.state = 'ready' and state::text = 'ready' and (
        -- include shared/group_order.sql of=head
      ) < (
        -- include shared/group_order.sql of=j
      )
    )
  ) as found
) as heads
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
    limit (select :max_ahead::integer)
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
      limit (select :max_ahead::integer - higher.jobs)
    )
    union all
    (
      select
      from dibs.jobs
      where j.state = 'ready' and queue_id = :queue_id and state = 'ready' and fairness_key = j.fairness_key
        and -priority = -j.priority and position < j.position
      order by queue_id, -priority, fairness_key, position
      limit (select :max_ahead::integer - higher.jobs)
    )
  ) as found
) as own
-- Keys alternate: before this job, each other key of its priority is served as often as its own key, and once more if
-- its turn comes before that of its own key. The turns begin behind the fairness cursor (claim/fair.sql): the keys behind
-- it (lap 0), then the jobs without a key (lap 1), then the keys up to it (lap 2).
cross join lateral (
  select
    name,
    case when j.fairness_key is null then 1 when j.fairness_key > name then 0 else 2 end as own_lap,
    coalesce(j.fairness_key, '') collate "C" as own_name,
    :max_ahead::integer - higher.jobs - own.jobs as left_over
  from (
    select coalesce((:cursor_keys::text[])[array_position(:cursor_ranks::integer[], -j.priority)], '') collate "C" as name
  ) as served
) as cursor
-- It walks the keys in the order of their turns. Where its own key has no job before this one, the walk ends at its own turn. The first
-- row and the one that opens lap 2 are no keys.
cross join lateral (
  with recursive key (n, lap, name, is_key) as (
    select 1, 0, cursor.name collate "C", false where j.state = 'ready' and cursor.left_over > 0
    union all
    select
      key.n + 1,
      case when next.name is null then key.lap + 1 else key.lap end,
      coalesce(next.name, '') collate "C",
      next.name is not null or key.lap = 0
    from key
    left join lateral (
      select fairness_key as name
      from dibs.jobs
      where key.lap <> 1 and queue_id = :queue_id and state = 'ready' and fairness_key is not null
        and -priority = -j.priority and fairness_key > key.name and (key.lap = 0 or fairness_key <= cursor.name)
      order by queue_id, -priority, fairness_key, position
      limit 1
    ) as next on true
    where key.n < :max_keys::integer
      and (key.lap < 2 or next.name is not null)
      and (own.jobs > 0 or (key.lap, key.name) < (cursor.own_lap, cursor.own_name))
  )
  select
    count(one)::integer as jobs,
    coalesce(max(n), 0) >= :max_keys::integer or count(*) >= cursor.left_over as is_cut
  from (
    select key.n, job.one
    from key
    left join lateral (
      (
        select 1 as one
        from dibs.jobs
        where key.name = '' and queue_id = :queue_id and state = 'ready' and fairness_key is null
          and -priority = -j.priority
        order by queue_id, -priority, position
        limit own.jobs + ((key.lap, key.name) < (cursor.own_lap, cursor.own_name))::integer
      )
      union all
      (
        select 1
        from dibs.jobs
        where queue_id = :queue_id and state = 'ready' and fairness_key = key.name
          and -priority = -j.priority
        order by queue_id, -priority, fairness_key, position
        limit own.jobs + ((key.lap, key.name) < (cursor.own_lap, cursor.own_name))::integer
      )
    ) as job on key.is_key and key.name <> cursor.own_name
    limit cursor.left_over
  ) as found
) as others
where j.queue_id = :queue_id and j.id = :id and q.id = :queue_id;
