-- The lease of a job `j` has ended, and its attempt is charged. The job gets the position beside its id.
state = (case
  when j.cancel_requested then 'cancelled'
  when j.attempt >= j.max_attempts then 'dead'
  when
    -- include shared/may_be_ready.sql of=j
    then 'ready'
  else 'blocked'
end)::dibs.job_state,
is_head = j.is_head and j.head_place > 0 and not j.cancel_requested and j.attempt < j.max_attempts,
position =
  -- include shared/new_position.sql
,
run_at = case when j.cancel_requested or j.attempt >= j.max_attempts then j.run_at else now() end,
finished_at = case when j.cancel_requested or j.attempt >= j.max_attempts then now() end,
lease_expires_at = null,
worker = null
