-- Those of the batches :ids that there are, in queues like one of the patterns :visible (null: any), and whether they have ended.
-- It counts nothing, so it costs the same for every size of batch.
select
  b.id,
  q.name as queue,
  b.finished_at is not null and (b.succeeded or dibs.unfinished_in_batch(b.id, 1) = 0) as has_ended
from dibs.batches b
join dibs.queues q on q.id = b.queue_id
where b.id = any (:ids) and (:visible::text[] is null or q.name like any (:visible));
