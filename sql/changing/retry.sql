-- Makes a dead or scheduled job ready, with all its attempts. A job of a group is blocked, unless it is the head.
-- A job that has expired loses its expires_at.
-- The update waits for a transaction that holds the unique key of the job. Somebody may keep that transaction open.
update dibs.jobs j
set
  state = (case
    when
      -- include shared/may_be_ready.sql of=j
      then 'ready'
    else 'blocked'
  end)::dibs.job_state,
  is_head = j.is_head and j.head_place > 0,
  head_place = case when j.is_head then j.head_place else 1 end,
  position = case when j.is_head and j.head_place < 0 then j.position else :position end,
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when expires_at > now() then expires_at end
where queue_id = :queue_id and id = :id and state in ('dead', 'scheduled')
returning
  j.state, j.finished_at, j.result,
  -- include shared/is_keyless.sql
  ,
  -- include shared/job_columns.sql
;
