-- Notes that somebody waits for the end of a job, for $3 seconds. No row comes back when it is finished, or gone.
update dibs.jobs
set awaited_until = greatest(awaited_until, now() + $3::double precision * interval '1 second')
where queue_id = $1
  and id = $2
  and state not in ('completed', 'cancelled', 'dead')
returning state;
