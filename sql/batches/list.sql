-- A page of batches, newest first. It is chosen before anything is counted.
select
  -- include shared/batch_columns.sql
from (
  select b.*
  from dibs.batches b
  join dibs.queues q on q.id = b.queue_id
  where (:after::uuid is null or b.id < :after)
    and (:queue::text is null or q.name = :queue)
    and (
      :state::text is null
      or case :state
        when 'open' then b.closed_at is null
        when 'running' then
          b.closed_at is not null and not b.succeeded and (b.finished_at is null or dibs.unfinished_in_batch(b.id, 1) > 0)
        when 'succeeded' then b.succeeded
        when 'ended' then
          b.finished_at is not null and not b.succeeded and dibs.unfinished_in_batch(b.id, 1) = 0
      end
    )
    and (:visible::text[] is null or q.name like any (:visible))
  order by b.id desc
  limit :limit
) as b
join dibs.queues q on q.id = b.queue_id
-- include shared/batch_counts.sql
order by b.id desc;
