-- Whether a queue has jobs, and whether it has a batch that has not ended. For jobs it does not use EXISTS: a planner that believes
-- the queue to be large then reads the table from its beginning, where the jobs of other queues stand.
select
  (select id from dibs.jobs where queue_id = :queue_id order by id limit 1) is not null as has_jobs,
  exists (select from dibs.batches b where b.queue_id = :queue_id and b.finished_at is null) as has_batch;
