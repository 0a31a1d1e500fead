-- Changes a job that waits or is dead. What is null stays as it is. A ready job that gets another priority, and a scheduled job
-- that becomes ready, arrive anew: scan floors may have passed their positions. A head of a group that is delayed keeps its group.
-- The trigger of dibs.jobs cannot tell a change from other updates: so this notes it in the history.
-- FOR UPDATE sees the job as it is after the transactions that hold it, and the update then changes that one.
with job as materialized (
  select
    id,
    state as before,
    priority <> coalesce(:priority::smallint, priority) as has_new_priority,
    (case
      when state = 'dead' then 'dead'
      when :run_at::timestamptz > now() then 'scheduled'
      when state <> 'scheduled' or :run_at is null then state
      when
        -- include shared/may_be_ready.sql of=jobs
        then 'ready'
      else 'blocked'
    end)::dibs.job_state as after
  from dibs.jobs
  where queue_id = :queue_id
    and id = :id
    and state in ('scheduled', 'ready', 'blocked', 'dead')
    and (:max_attempts::integer is null or :max_attempts >= attempt + (state <> 'dead')::integer)
  for update
),
changed as (
  update dibs.jobs j
  set
    state = job.after,
    is_head = j.is_head and (j.head_place > 0 or job.after = 'scheduled'),
    position = case
      when j.is_head and j.head_place < 0 then j.position
      when job.after in ('ready', 'blocked') and (job.before <> job.after or job.after = 'ready' and job.has_new_priority)
        then :position
      else j.position
    end,
    run_at = case when job.after = 'scheduled' then coalesce(:run_at, j.run_at) when job.before = 'scheduled' then now() else j.run_at end,
    -- include shared/changed_columns.sql
    ,
    payload = coalesce(:payload::text::json, j.payload),
    payload_bytes = coalesce(octet_length(:payload), j.payload_bytes),
    expires_at = coalesce(now() + :expires_in_seconds::double precision * interval '1 second', j.expires_at)
  from job
  where j.queue_id = :queue_id and j.id = job.id
  returning j.*
),
noted as (
  insert into dibs.history (queue_id, job_id, event, state, attempt, deliveries, run_at, actor)
  select queue_id, id, 'changed', state, attempt, deliveries, case when state <> 'dead' then run_at end, :by
  from changed
  where current_setting('dibs.history', true) is distinct from 'off'
)
select
  j.state, j.finished_at, j.result,
  -- include shared/job_columns.sql
from changed j;
