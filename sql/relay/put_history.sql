-- Puts in the histories of jobs that were moved here from another database.
insert into dibs.history (
  queue_id, job_id, at, expires_at, event, state, attempt, deliveries, worker, error, run_at, leased_at, actor
)
select
  :queue_id::integer, job.id, event.at, event.expires_at, event.event, event.state, event.attempt, event.deliveries,
  event.worker, event.error, event.run_at, event.leased_at, event.actor
from json_to_recordset(:jobs::json) as job (id uuid, history json)
cross join lateral json_to_recordset(job.history) as event (
  at timestamptz, expires_at timestamptz, event text, state dibs.job_state, attempt integer, deliveries integer,
  worker text, error text, run_at timestamptz, leased_at timestamptz, actor text
)
order by event.at;
