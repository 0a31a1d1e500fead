-- A page of jobs, in the {order} of their ids, {beyond} the last one of the page before (:after).
-- First it chooses the queues: as many as the page may have jobs, those whose first jobs come first. So with very many queues, most
-- of them cost one probe of an index. With :ids, the page has these jobs only, each in the queue at the same place of :queue_ids.
-- Then it takes the page of each queue by primary key (or by state), and the page of those. It is planned at each call, so that
-- filters that are not set vanish from the plan. The inner limit stands in a sub-select for the planner's sake: see claim_scan.sql.
-- The window has no order of its own: it takes the rows in the order of the page. The page ends when its jobs have :max_bytes
-- together, but it always has the first. `found` is how many it would have had. With :preview, a payload is cut to so many
-- characters.
with asked as materialized (
  select queue_id, array_agg(id) as ids
  from unnest(:queue_ids::integer[], :ids::uuid[]) as asked (queue_id, id)
  group by queue_id
),
queue as materialized (
  select q.id, q.name, q.ids
  from (
    select queues.*, asked.ids
    from dibs.queues
    left join asked on asked.queue_id = queues.id
    where :ids::uuid[] is null or asked.queue_id is not null
  ) as q
  cross join lateral (
    select id
    from dibs.jobs
    where
      -- include shared/listed_filter.sql
      and (:after::uuid is null or id {beyond} :after)
    order by id {order}
    limit (select 1)
  ) as first
  where (:queue::text is null or q.name = :queue) and (:visible::text[] is null or q.name like any (:visible))
  order by first.id {order}
  limit :limit
)
select
  j.queue, j.state, j.finished_at, j.result, j.moved_to,
  case
    when :include_payload then coalesce(substr(j.payload::text, 1, :preview::integer), j.payload::text)
  end as payload,
  -- include shared/job_columns.sql
  , found
from (
  select
    *,
    count(*) over ()::integer as found,
    sum(bytes) over (rows unbounded preceding) - bytes as bytes_before
  from (
    select
      q.name as queue, j.*,
      coalesce(octet_length(result::text), 0) + case when :include_payload then least(0, :preview - payload_bytes) else -payload_bytes end +
      -- include shared/job_bytes.sql
      as bytes
    from queue q
    cross join lateral (
      select *
      from dibs.jobs
      where
        -- include shared/listed_filter.sql
        and (:after::uuid is null or id {beyond} :after)
      order by id {order}
      limit (select :limit::integer)
    ) as j
    order by j.id {order}
    limit :limit
  ) as page
) as j
where bytes_before < :max_bytes::integer
order by j.id {order};
