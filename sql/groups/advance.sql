-- Gives a new head to those of the groups :groups of one queue that have none. The first blocked job of such a group
-- becomes ready, at a new position. It runs in a transaction of its own, after the one that brought or took jobs: see
-- src/groups/heads.ts.
-- While the queue is imported, no group gets one: the jobs that go first may not have come yet.
-- The rows are the heads of the groups, new or not. A group without blocked jobs and without a head has no row, nor has a
-- paused one. When
-- the job that would be the head was taken away at this moment, the row has that job, and is_head is false: the caller
-- looks again. Each group costs two probes, however many groups or jobs there are. The limits keep them probes: as
-- joins, they would read the heads and the blocked jobs of all groups.
with found as materialized (
  select
    asked.group_key, head.id as head_id, head.run_at, head.is_paused, next.id as next_id,
    case when next.id is not null then nextval('dibs.positions') end as position
  from unnest(:groups::text[]) as asked (group_key)
  cross join (select paused_groups as all_paused from dibs.queues where id = :queue_id and not is_importing) as queue
  left join lateral (
    select id, run_at, is_paused
    from dibs.jobs
    where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(is_head)
    order by queue_id, group_key
    limit 1
  ) as head on true
  left join lateral (
    select id
    from dibs.jobs
    where head.id is null
      and asked.group_key <> all (queue.all_paused)
      and queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(state = 'blocked')
    order by queue_id, group_key, position
    limit 1
  ) as next on true
),
picked as materialized (
  select array_agg(next_id order by next_id) as ids, array_agg(position order by next_id) as positions
  from found
  where next_id is not null
),
advanced as (
  update dibs.jobs j
  set
    head_place = 1,
    -- include shared/becomes_head.sql
  where j.queue_id = :queue_id
    and j.id = any ((select ids from picked)::uuid[])
    and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
    -- Compared as a text, so that no index but the primary key seems to fit. The ids ascend: see
    -- shared/batch_by_id.sql.
    and j.state::text = 'blocked'
    -- A pause may have made it the head at this moment.
    and not j.is_head
  returning j.group_key, j.id, j.run_at
)
select group_key as "group", coalesce(head_id, next_id) as id, run_at, head_id is not null as is_head, false as is_new
from found
where (head_id is not null and is_paused is null) or next_id is not null
union all
select group_key, id, run_at, true, true
from advanced;
