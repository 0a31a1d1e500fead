-- The ids of up to :limit jobs in :state, of all queues, in the {order} of their ids: where no index has them in this order. It looks at a
-- bounded number of jobs, about :look in all, however few of them are in that state.
-- First it looks for the first one of each queue (`first`). Where there was none, it looks farther (`far`). Then it looks at the
-- queues whose first jobs come first (`part`). Where a look ended too soon, jobs behind its last one may be missing. `stop_id` is the
-- nearest of these ends: the page ends there, and the caller goes on behind it.
-- A queue without ready jobs costs two probes of the indexes that have these.
with queue as materialized (
  select q.id
  from dibs.queues q
  where (:visible::text[] is null or q.name like any (:visible))
    and (
      :state::text <> 'ready'
      or (select true from dibs.jobs where queue_id = q.id and state = 'ready' and fairness_key is null order by queue_id, -priority, position limit 1)
      or (select true from dibs.jobs where queue_id = q.id and state = 'ready' and fairness_key is not null order by queue_id, -priority, fairness_key, position limit 1)
    )
),
look as materialized (
  select greatest(10, least(2000, :look::integer / greatest(1, count(*))))::integer as jobs from queue
),
first as materialized (
  select queue.id as queue_id, found.id
  from queue
  left join lateral (
    -- include shared/walked_ids.sql queue=queue.id look=look order={order} beyond={beyond}
    limit 1
  ) as found on true
),
far_look as materialized (
  select greatest(10, least(2000, :look / greatest(1, count(*))))::integer as jobs from first where id is null
),
far as materialized (
  select first.queue_id, found.id
  from first
  left join lateral (
    -- include shared/walked_ids.sql queue=first.queue_id look=far_look order={order} beyond={beyond}
    limit 1
  ) as found on true
  where first.id is null
),
part as materialized (
  select queue_id
  from (select queue_id, id from first where id is not null union all select queue_id, id from far where id is not null) as nearest
  order by id {order}
  limit :limit::integer
),
closer_look as materialized (
  select greatest(10, least(2000, :look / greatest(1, count(*))))::integer as jobs from part
),
page as materialized (
  select part.queue_id, found.id
  from part
  cross join lateral (
    -- include shared/walked_ids.sql queue=part.queue_id look=closer_look order={order} beyond={beyond}
    limit (select :limit)
  ) as found
),
ended (queue_id, jobs) as (
  select queue_id, (select jobs from far_look) from far where id is null
  union all
  select part.queue_id, (select jobs from closer_look)
  from part
  left join page on page.queue_id = part.queue_id
  group by part.queue_id
  having count(page.id) < :limit
),
stop as materialized (
  select seen.id
  from ended
  cross join lateral (
    select id
    from dibs.jobs
    where queue_id = ended.queue_id
      and (:after is null or id {beyond} :after)
      and
      -- include shared/walked_index.sql
    order by id {order}
    offset ended.jobs - 1
    limit 1
  ) as seen
  order by seen.id {order}
  limit 1
),
shown as materialized (
  select queue_id, id
  from page
  where not exists (select from stop) or not id {beyond} (select id from stop)
  order by id {order}
  limit :limit
)
select
  (select id from stop) as stop_id,
  array(select queue_id from shown order by id {order}) as queue_ids,
  array(select id from shown order by id {order}) as ids;
