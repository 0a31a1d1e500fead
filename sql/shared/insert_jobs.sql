-- The one insert of jobs. The statement around it names the queue (`queue`) and the jobs (`new`, with their positions).
-- A job of a group is inserted blocked. After the commit, src/groups/heads.ts advances the group.
insert into dibs.jobs
  (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, backoff, headers, payload,
    unique_key, group_key, fairness_key, expires_at, awaited_until, position)
select
  queue.id,
  new.id,
  (case
    when due.run_at > now() then 'scheduled'
    when new.group_key is not null then 'blocked'
    else 'ready'
  end)::dibs.job_state,
  greatest(due.run_at, now()),
  new.priority,
  new.max_attempts,
  octet_length(new.payload),
  new.backoff::json,
  new.headers::json,
  new.payload::json,
  new.unique_key,
  new.group_key,
  new.fairness_key,
  now() + new.expires_in_seconds * interval '1 second',
  now() + new.awaited_seconds * interval '1 second',
  coalesce(new.position, nextval('dibs.positions'))
from queue
cross join new
cross join lateral (
  select coalesce(new.run_at, now() + new.delay_seconds * interval '1 second') as run_at
) as due
