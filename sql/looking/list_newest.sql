-- A page of jobs, newest first. No more queues have a part in it than it has jobs: those whose newest jobs are the newest ones. So
-- with very many queues, most of them cost one probe of an index. With :ids, it is a page of these jobs only, each in the queue at
-- the same place of :queue_ids.
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
      and (:after::uuid is null or id < :after)
    order by id desc
    limit (select 1)
  ) as first
  where (:queue::text is null or q.name = :queue) and (:visible::text[] is null or q.name like any (:visible))
  order by first.id desc
  limit :limit
)
-- include shared/listed_jobs.sql
        and (:after::uuid is null or id < :after)
      order by id desc
      limit (select :limit::integer)
    ) as j
    order by j.id desc
    limit :limit
  ) as page
) as j
where bytes_before < :max_bytes::integer
order by j.id desc;
