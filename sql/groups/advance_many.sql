-- Gives a new head to those of the groups :groups that have none, as groups/advance.sql does, but for groups of many
-- queues: the queue of each stands beside it in :queue_ids. Returns the queues of the new heads.
-- It waits for nobody. When somebody holds the job that would be the head, the group stays without one, and the caller
-- looks again.
-- It updates by ctid, which cannot change under the lock. By ids, a plan made with few queues would read all of their
-- jobs.
with found as materialized (
  select next.id, next.place, nextval('dibs.positions') as position
  from unnest(:queue_ids::integer[], :groups::text[]) as asked (queue_id, group_key)
  cross join lateral (
    select paused_groups as all_paused from dibs.queues where id = asked.queue_id and not is_importing limit 1
  ) as queue
  cross join lateral (
    select id, ctid as place
    from dibs.jobs
    where queue_id = asked.queue_id and group_key = asked.group_key and dibs.by_index(state = 'blocked')
    order by queue_id, group_key, position
    limit 1
  ) as next
  where asked.group_key <> all (queue.all_paused)
    and not exists (
      select from dibs.jobs
      where queue_id = asked.queue_id and group_key = asked.group_key and dibs.by_index(is_head)
      order by queue_id, group_key
      offset 0
    )
),
picked as materialized (
  select array_agg(id order by id) as ids, array_agg(position order by id) as positions from found
),
held as materialized (
  select ctid as place
  from dibs.jobs
  where ctid = any (array(select place from found)) and state::text = 'blocked' and not is_head
  for update skip locked
),
advanced as (
  update dibs.jobs j
  set
    head_place = 1,
    -- include shared/becomes_head.sql
  where j.ctid = any (array(select place from held))
  returning j.queue_id
)
select distinct queue_id from advanced;
