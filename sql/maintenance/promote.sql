-- Makes scheduled jobs of one queue ready whose time has come, each at the position beside its id; the ids ascend (see
-- ack.sql). Only by id: looking for what is due in the queue, the planner went through all that it had scheduled.
-- The state is compared as a text, so that no index but the primary key seems to fit.
-- A job of a group arrives now, and is blocked, unless it is its head, whose backoff is over.
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
  state = (case when j.group_key is null or j.is_head then 'ready' else 'blocked' end)::dibs.job_state,
  position = (:positions::bigint[])[width_bucket(j.id, :ids::uuid[])]
where j.queue_id = :queue_id
  and j.id = any (array(select id from due))
  and j.id between (:ids::uuid[])[1] and (:ids::uuid[])[cardinality(:ids::uuid[])]
returning j.id, j.state, j.group_key as "group";
