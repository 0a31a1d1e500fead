-- Notes that somebody waits for the end of a job, for :seconds seconds. No row comes back when it is finished, or gone.
update dibs.jobs
set awaited_until = greatest(awaited_until, now() + :seconds::double precision * interval '1 second')
where queue_id = :queue_id
  and id = :id
  and state not in ('completed', 'cancelled', 'dead')
returning state;
