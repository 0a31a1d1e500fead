-- In the database of a queue: whether an operation works on it, moves jobs there, or relocates it, though home has forgotten that. And
-- the other queue that has to stay in its database: where its dead jobs go, or one whose dead jobs go to it. And a batch that has not
-- ended, of the queue or with a job in it: a batch is in one database.
select
  exists (
    select from dibs.operations where state = 'running' and (queue_id = :queue_id or to_id = :queue_id)
  ) or exists (
    select from dibs.relocating_queues where queue_id = :queue_id and role <> 'refused'
  ) as is_busy,
  (
    select other.name
    from dibs.queues own
    join dibs.queues other on other.name = own.dead_letter_queue or other.dead_letter_queue = own.name
    where own.id = :queue_id
    limit 1
  ) as tied_to,
  (
    select b.id
    from dibs.batches b
    where (b.finished_at is null or exists (select from dibs.batch_followers f where f.batch_id = b.id))
      and (
        b.queue_id = :queue_id
        or exists (
          select from dibs.jobs j
          where j.batch_id = b.id and j.state in ('scheduled', 'ready', 'blocked', 'leased') and j.queue_id = :queue_id
        )
        or exists (
          select from dibs.batch_followers f
          join dibs.queues q on q.name = f.queue
          where f.batch_id = b.id and q.id = :queue_id
        )
      )
    order by b.id
    limit 1
  ) as batch;
