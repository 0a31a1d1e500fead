-- Deletes batches once their queue's retention since their last end is over, but not within an hour. One whose dead jobs can be
-- retried stays while they do: its on_success may still come. No end is before the first one, of which there is an index.
delete from dibs.batches
where id = any (array(
    select b.id
    from dibs.batches b
    join dibs.queues q on q.id = b.queue_id
    where b.finished_at <= now() - interval '1 hour'
      and greatest(b.finished_at, b.ended_at) <= now() - greatest(q.retention_seconds, 3600) * interval '1 second'
      and not exists (select from dibs.batch_followers f where f.batch_id = b.id)
      and dibs.unfinished_in_batch(b.id, 1) = 0
    order by b.finished_at
    limit :limit
    for update of b skip locked
  ))
returning id;
