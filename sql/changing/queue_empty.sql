-- Whether a queue has no jobs at all, and no batch that has not ended. It does not use EXISTS: a planner that believes the queue to be large then reads the
-- table from its beginning, where the jobs of other queues stand.
select (select id from dibs.jobs where queue_id = :queue_id order by id limit 1) is null
  and (
    :force
    or not exists (select from dibs.batches b where b.queue_id = :queue_id and b.finished_at is null)
  ) as empty;
