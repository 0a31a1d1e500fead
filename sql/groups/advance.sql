-- Gives those of the groups :groups of one queue that have no head a new one: the first of their blocked jobs becomes ready,
-- at the position beside its group. Runs in a transaction after the one that brought or took jobs: src/groups.ts.
-- Each group comes back with its head, new or not; or with the job that would be the head, but was taken away at this
-- moment (is_head is false then, and one has to look again); or not at all, when nothing of it waits.
-- Two probes for each group, however many groups or jobs there are. The limits keep them probes: made into joins, they
-- would read the heads and the blocked jobs of all groups.
with turn as materialized (
  select asked.group_key, asked.position, head.id as head_id, head.run_at, next.id as next_id
  from unnest(:groups::text[], :positions::bigint[]) as asked (group_key, position)
  left join lateral (
    select id, run_at
    from dibs.jobs
    where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(is_head)
    order by queue_id, group_key
    limit 1
  ) as head on true
  left join lateral (
    select id
    from dibs.jobs
    where head.id is null and queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(state = 'blocked')
    order by queue_id, group_key, position
    limit 1
  ) as next on true
),
picked as materialized (
  select array_agg(next_id order by next_id) as ids, array_agg(position order by next_id) as positions
  from turn
  where next_id is not null
),
advanced as (
  update dibs.jobs j
  set
    state = 'ready',
    is_head = true,
    position = ((select positions from picked))[width_bucket(j.id, (select ids from picked))],
    run_at = now()
  where j.queue_id = :queue_id
    and j.id = any ((select ids from picked)::uuid[])
    and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
    -- As a text, so that no index but the primary key seems to fit.
    and j.state::text = 'blocked'
  returning j.group_key, j.id, j.run_at
)
select group_key as "group", coalesce(head_id, next_id) as id, run_at, head_id is not null as is_head, false as is_new
from turn
where head_id is not null or next_id is not null
union all
select group_key, id, run_at, true, true
from advanced;
