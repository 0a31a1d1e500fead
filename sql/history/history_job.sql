-- What a job tells of its history. An older replica does not write when a lease began: see functions/note_history.sql.
select
  created_at, state, attempt, deliveries, worker, finished_at, last_error,
  case when state in ('leased', 'completed') and leased_at >= run_at then leased_at end as leased_at
from dibs.jobs
where queue_id = :queue_id and id = :id;
