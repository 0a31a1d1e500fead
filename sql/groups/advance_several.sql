-- Gives heads to groups of one queue, as groups/advance.sql does, where a group may have several: up to group_concurrency. The
-- first blocked jobs of a group become ready, each at a free place among the heads.
-- The rows are all heads of the groups, new or not, and the jobs that would be heads but were taken away at this moment:
-- is_head is false for these, and the caller looks again.
-- The key-share lock has a pause, or a lower group_concurrency, wait for this statement. What it brings is read under the lock.
with several as materialized (
  select group_concurrency as heads, paused_groups from dibs.queues where id = :queue_id and not is_importing for key share
),
found as materialized (
  select asked.group_key, heads.*, greatest(0, several.heads - cardinality(heads.ids)) as free
  from unnest(:groups::text[]) as asked (group_key)
  cross join several
  cross join lateral (
    select
      coalesce(array_agg(id), '{}') as ids,
      array_agg(run_at) as run_ats,
      coalesce(array_agg(head_place), '{}') as places,
      asked.group_key = any (several.paused_groups) as is_paused
    from (
      select id, run_at, head_place
      from dibs.jobs
      where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(is_head)
      order by queue_id, group_key, head_place
    ) as head
  ) as heads
),
next as materialized (
  select found.group_key, job.id, free.place, nextval('dibs.positions') as position
  from found
  cross join lateral (
    select id, row_number() over (order by position) as nr
    from (
      select id, position
      from dibs.jobs
      where found.free > 0 and not found.is_paused
        and queue_id = :queue_id and group_key = found.group_key and dibs.by_index(state = 'blocked')
      order by queue_id, group_key, position
      limit found.free
    ) as blocked
  ) as job
  join lateral (
    select place, row_number() over (order by place) as nr
    from (
      select generate_series(1, (select heads from several)) as place
      except
      select unnest(found.places)
    ) as place
  ) as free on free.nr = job.nr
),
picked as materialized (
  select
    array_agg(id order by id) as ids, array_agg(position order by id) as positions, array_agg(place order by id) as places
  from next
),
advanced as (
  update dibs.jobs j
  set
    head_place = ((select places from picked))[width_bucket(j.id, (select ids from picked))],
    -- include shared/becomes_head.sql
  where j.queue_id = :queue_id
    and j.id = any ((select ids from picked)::uuid[])
    and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
    -- Compared as a text, and with the ids in their order: see groups/advance.sql.
    and j.state::text = 'blocked'
    and not j.is_head
  returning j.group_key, j.id, j.run_at
)
select found.group_key as "group", head.id, head.run_at, true as is_head, false as is_new
from found
cross join lateral unnest(found.ids, found.run_ats) as head (id, run_at)
where not found.is_paused
union all
select group_key, id, run_at, true, true
from advanced
union all
select group_key, id, null, false, false
from next
where id not in (select id from advanced);
