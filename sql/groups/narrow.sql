-- Takes heads from groups that have more of them than the queue allows. It looks at the next :limit groups with heads: those
-- after the group :after. `last_group` names the last one that it looked at, `groups` those that had too many. It looks at :groups,
-- too: claims have met them, and may not have their jobs before (shared/claim_firsts.sql).
-- Of such a group, all heads go, to positions before the jobs that were never heads. A ready one is blocked again. One that is
-- leased or rests counts until it may run again: then it is blocked (shared/may_be_ready.sql). All of them, and those that went
-- before, stand in their order, and have negative places. A place is a smallint: the places begin anew before they end.
-- The groups get new heads, as many as there is room for, when they are advanced after the commit.
-- The update sees each job as it is by then: a job may be claimed, or come back, at this moment.
with recursive walked as (
  (
    select group_key
    from dibs.jobs
    where queue_id = :queue_id and group_key is not null and dibs.by_index(is_head) and group_key > :after::text
    order by queue_id, group_key
    limit 1
  )
  union all
  select next.group_key
  from walked
  cross join lateral (
    select group_key
    from dibs.jobs
    where queue_id = :queue_id and group_key is not null and dibs.by_index(is_head) and group_key > walked.group_key
    order by queue_id, group_key
    limit 1
  ) as next
),
page as materialized (
  select group_key
  from walked
  limit (select :limit::integer)
),
crowded as materialized (
  select looked_at.group_key, heads.lowest
  from (select group_key from page union select unnest(:groups::text[])) as looked_at (group_key)
  cross join lateral (
    select count(*) as jobs, min(head_place) as lowest, max(head_place) as highest
    from (
      select head_place
      from dibs.jobs
      where queue_id = :queue_id and group_key = looked_at.group_key and dibs.by_index(is_head)
      order by queue_id, group_key, head_place
    ) as head
  ) as heads
  where heads.jobs > (select group_concurrency from dibs.queues where id = :queue_id and not is_importing) and heads.highest > 0
),
leaving as materialized (
  select
    array_agg(id order by id) as ids, array_agg(position order by id) as positions, array_agg(place order by id) as places
  from (
    select
      head.id,
      coalesce(never.position, head.highest + 1) - head.before_end as position,
      case when crowded.lowest < -16000 then 0 else least(crowded.lowest, 0) end - head.before_end as place
    from crowded
    left join lateral (
      select position
      from dibs.jobs
      where queue_id = :queue_id and group_key = crowded.group_key and dibs.by_index(state = 'blocked') and not is_head
        and head_place > 0
      order by queue_id, group_key, position
      limit 1
    ) as never on true
    cross join lateral (
      select
        id,
        max(position) over () as highest,
        count(*) over () + 1 - row_number() over (
          order by
            -- include shared/group_order.sql of=job
        ) as before_end
      from (
        (
          select id, position, leased_at
          from dibs.jobs
          where queue_id = :queue_id and group_key = crowded.group_key and dibs.by_index(is_head)
          order by queue_id, group_key, head_place
        )
        union all
        (
          select id, position, leased_at
          from dibs.jobs
          where queue_id = :queue_id and group_key = crowded.group_key and dibs.by_index(state = 'blocked') and not is_head
            and head_place < 0 and position < coalesce(never.position, 9223372036854775807)
          order by queue_id, group_key, position
        )
      ) as job
    ) as head
  ) as job
),
narrowed as (
  update dibs.jobs j
  set
    state = (case j.state when 'ready' then 'blocked' else j.state end)::dibs.job_state,
    is_head = j.state in ('leased', 'scheduled'),
    is_paused = case when j.state in ('leased', 'scheduled') then j.is_paused end,
    head_place = ((select places from leaving))[width_bucket(j.id, (select ids from leaving))],
    position = ((select positions from leaving))[width_bucket(j.id, (select ids from leaving))]
  where j.queue_id = :queue_id
    and j.id = any ((select ids from leaving)::uuid[])
    and j.id between (select ids[1] from leaving) and (select ids[cardinality(ids)] from leaving)
    -- One that was a head once, and is not finished.
    and (j.is_head or (j.state::text = 'blocked' and j.head_place < 0))
)
select
  (select max(group_key) from page) as last_group,
  (select array_agg(group_key) from crowded) as groups;
