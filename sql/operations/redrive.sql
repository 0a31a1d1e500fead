-- Makes jobs in some states (dead, scheduled) ready, or blocked in their groups, with all their attempts, each at the position
-- beside its id. The head of a group is ready. A job that has expired loses its expires_at. A job that died again after the
-- call (:called_at) stays dead.
-- The state is compared as a text, so that no index but the primary key seems to fit: in a table that was not analyzed
-- yet, each chunk read all dead jobs.
-- A job stays dead when another job holds its unique key. OFFSET keeps that look a probe of an index. A transaction that
-- takes the key at this moment may be one that somebody keeps open: the caller limits how long the update waits for it.
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
  position =
    -- include shared/new_position.sql
  ,
  attempt = 0,
  run_at = now(),
  finished_at = null,
  expires_at = case when j.expires_at > now() then j.expires_at end
where
  -- include shared/batch_by_id.sql
  and j.state::text = any (:states::text[])
  and (j.state <> 'dead' or j.finished_at <= :called_at::timestamptz)
  and (
    j.unique_key is null
    or j.state = 'scheduled'
    or not exists (
      select from dibs.jobs holder
      where holder.queue_id = :queue_id
        and holder.unique_key = j.unique_key
        and holder.state in ('scheduled', 'ready', 'blocked', 'leased')
      offset 0
    )
  )
returning
  j.id, j.state, j.group_key as "group",
  -- include shared/is_keyless.sql
;
