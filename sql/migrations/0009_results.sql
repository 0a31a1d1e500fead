-- What is kept of an ack that enqueued jobs, and of a request that waits for its job.
alter table dibs.jobs
  -- The jobs that the ack enqueued, to be answered again to the same ack.
  add enqueued json,
  add constraint job_enqueued check (enqueued is null or state = 'completed');

alter table dibs.idempotency_keys
  -- Until when the first request may still be answered something else: it waits for its job to finish.
  add open_until timestamptz;
