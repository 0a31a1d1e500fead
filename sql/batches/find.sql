-- A batch, if its queue is like one of the patterns :visible. Null: all.
select
  -- include shared/batch_columns.sql
from dibs.batches b
join dibs.queues q on q.id = b.queue_id
-- include shared/batch_counts.sql
where b.id = :id and (:visible::text[] is null or q.name like any (:visible));
