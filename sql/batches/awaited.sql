-- Whether a batch was cancelled, and what keeps it from its end: one of its unfinished jobs, in a queue like one of the patterns :visible (null: any), and a batch of which a follower joins it.
select
  job.id as job_id, job.state as job_state, job.queue as job_queue, follower.batch_id as follower_of,
  batch.cancelled_at is not null as is_cancelled
from dibs.batches batch
left join lateral (
  select j.id, j.state, q.name as queue
  from unnest('{leased, ready, scheduled, blocked}'::dibs.job_state[]) with ordinality as one (state, place)
  cross join lateral (
    select * from dibs.jobs where batch_id = :id and state = one.state order by batch_id, state, id limit 1
  ) as j
  join dibs.queues q on q.id = j.queue_id and (:visible::text[] is null or q.name like any (:visible))
  order by one.place
  limit 1
) as job on true
left join lateral (
  select batch_id from dibs.batch_followers where joins = :id order by batch_id limit 1
) as follower on true
where batch.id = :id;
