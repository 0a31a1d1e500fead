-- Makes scheduled jobs of one queue ready whose `run_at` has come, each at the position beside its id.
-- A delayed job of a group arrives now: it is blocked. A group head, whose backoff is over, is ready, unless its group
-- is paused.
-- It finds the jobs only by id. When it looked for due jobs in the queue, the planner went through all scheduled jobs.
-- The state is compared as a text, so that no index but the primary key seems to fit.
-- The ids ascend: see shared/batch_by_id.sql.
with due as materialized (
  select j.id
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
    and j.state::text = 'scheduled' and j.run_at <= now()
  for update skip locked
)
update dibs.jobs j
set
  state = (case
    when
      -- include shared/may_be_ready.sql of=j
      then 'ready'
    else 'blocked'
  end)::dibs.job_state,
  is_head = j.is_head and j.head_place > 0,
  position =
    -- include shared/new_position.sql
where j.queue_id = :queue_id
  and j.id = any (array(select id from due))
  and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
returning j.id, j.state, j.group_key as "group";
