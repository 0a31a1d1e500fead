-- Puts the ready heads of the groups :groups of one queue in the order of their groups: a job came back, and those that nobody has
-- begun give way to it. Heads that came back go by their ids, and the others by their positions. Each head that
-- stands before one that goes before it gets a new position. Claims order by priority first: so does this.
-- It is for queues whose groups may have several heads. The update sees each job as it is by then.
with heads as materialized (
  select job.*
  from unnest(:groups::text[]) as asked (group_key)
  cross join lateral (
    select id, group_key, priority, position, leased_at is null as is_unbegun, case when leased_at is not null then id end as begun_id
    from dibs.jobs
    where queue_id = :queue_id and group_key = asked.group_key and dibs.by_index(is_head) and state::text = 'ready'
    order by queue_id, group_key, head_place
  ) as job
),
compared as materialized (
  select
    *,
    position < max(position) over (
      partition by group_key, priority order by is_unbegun, begun_id, position rows between unbounded preceding and 1 preceding
    ) as is_early
  from heads
),
-- Whoever goes after a head with a new position needs one, too.
late as materialized (
  select id, nextval('dibs.positions') as position
  from (
    select id
    from (
      select
        *,
        bool_or(is_early) over (partition by group_key, priority order by is_unbegun, begun_id, position) as is_late
      from compared
    ) as head
    where is_late
    order by group_key, is_unbegun, begun_id, position
  ) as head
),
picked as materialized (
  select array_agg(id order by id) as ids, array_agg(position order by id) as positions from late
)
update dibs.jobs j
set position = ((select positions from picked))[width_bucket(j.id, (select ids from picked))]
where j.queue_id = :queue_id
  and j.id = any ((select ids from picked)::uuid[])
  and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
  -- Compared as a text, and with the ids in their order: see groups/advance.sql.
  and j.state::text = 'ready'
  and j.is_head;
