-- What a job tells of its history. One that went to a dead letter queue was dead. An older replica does not write when a lease began: see functions/note_history.sql.
select
  created_at, case when moved_to is null then state else 'dead' end as state, attempt, deliveries, worker, finished_at, last_error,
  batch_id as batch, headers::text as headers,
  case when state in ('leased', 'completed') and leased_at >= run_at then leased_at end as leased_at
from dibs.jobs
where queue_id = :queue_id and id = :id;
