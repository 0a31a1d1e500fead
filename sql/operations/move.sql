-- Moves the jobs of a portion to another queue, each to the position beside its id. The transaction has locked them.
-- The new id ends with the number of the other queue. What comes before that stays: a job that is moved back has its old id again.
-- A job of a group is blocked, and no head. A job stays when another job or a window holds its unique key there. The window
-- of its key here stays, as after a delete.
-- A transaction that takes the key at this moment may be one that somebody keeps open: the caller limits that wait.
with batch as materialized (
  select j.id, j.state, j.unique_key
  from dibs.jobs j
  where
    -- include shared/batch_by_id.sql
    and (j.unique_key is null or j.state = 'dead' or not dibs.is_key_held(:to_id, j.unique_key))
),
-- include shared/note_ends.sql
update dibs.jobs j
set
  queue_id = :to_id,
  id = (left(j.id::text, 30) || lpad(to_hex(:to_id::integer), 6, '0'))::uuid,
  state = case
    when j.state in ('ready', 'blocked') then (case when j.group_key is null then 'ready' else 'blocked' end)::dibs.job_state
    else j.state
  end,
  position = (:positions::bigint[])[width_bucket(j.id, :ids::uuid[])],
  is_head = false,
  head_place = 1,
  lease_token = null,
  awaited_until = null,
  counted = false
where
  -- include shared/batch_by_id.sql
  and j.id = any (array(select id from batch))
returning j.id, j.state, j.group_key as "group";
