-- The one insert of jobs. The statement around it names the queue (`queue`) and the jobs (`new`, with their positions,
-- their batches, their keys until they are claimed, and whether they are the heads of their groups at once).
insert into dibs.jobs
  (queue_id, id, state, run_at, payload_bytes,
    -- include shared/new_job_columns.sql
    , expires_at, awaited_until, batch_id, own_key, is_head, position)
select
  queue.id,
  new.id,
  case
    when new.is_head then 'ready'
    else
      -- include shared/new_job_state.sql
  end,
  greatest(due.run_at, now()),
  octet_length(new.payload),
  -- include shared/new_job_values.sql
  ,
  now() + new.expires_in_seconds * interval '1 second',
  now() + new.awaited_seconds * interval '1 second',
  new.batch_id,
  new.own_key,
  new.is_head,
  coalesce(new.position, nextval('dibs.positions'))
from queue
cross join new
cross join lateral (
  select
    -- include shared/new_job_due.sql
) as due
