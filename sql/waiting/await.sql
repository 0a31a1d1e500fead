-- Notes in a job that a client waits for its end, for :seconds from now. No row comes back when the job is finished or
-- gone. awaited_until always changes: where it did not, settle/ack_sole.sql takes it that nobody else waits.
update dibs.jobs
set
  awaited_until = greatest(
    awaited_until + interval '1 microsecond',
    now() + :seconds::double precision * interval '1 second'
  )
where queue_id = :queue_id
  and id = :id
  and state not in ('completed', 'cancelled', 'dead')
returning state;
