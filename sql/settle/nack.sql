-- Ends failed attempts. A job comes back after a backoff, or is dead. A job without a backoff of its own gets
-- :queue_backoff.
-- A group head stays the head, and is blocked while its group is paused. On its place, see shared/may_be_ready.sql. A job that was dead or redriven before this late nack is no head: it is blocked again.
-- Positions and random numbers come as parameters, because Citus takes no volatile function in an UPDATE.
-- On :late, see shared/may_come_back.sql. The ids ascend: see shared/batch_by_id.sql.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when (:refusals::boolean[])[width_bucket(j.id, :ids::uuid[])] or j.attempt >= j.max_attempts then 'dead'
    when coalesce(
      (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])],
      dibs.backoff_seconds(coalesce(j.backoff, :queue_backoff::json), j.attempt,
        (:jitter_shares::double precision[])[width_bucket(j.id, :ids::uuid[])])
    ) > 0 then 'scheduled'
    when
      -- include shared/may_be_ready.sql of=j
      then 'ready'
    else 'blocked'
  end)::dibs.job_state,
  is_head = j.is_head
    and (
      j.head_place > 0
      or coalesce(
        (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])],
        dibs.backoff_seconds(coalesce(j.backoff, :queue_backoff::json), j.attempt,
          (:jitter_shares::double precision[])[width_bucket(j.id, :ids::uuid[])])
      ) > 0
    )
    and not j.cancel_requested
    and not (:refusals::boolean[])[width_bucket(j.id, :ids::uuid[])]
    and j.attempt < j.max_attempts,
  position =
    -- include shared/new_position.sql
  ,
  run_at = case
    when j.cancel_requested
      or (:refusals::boolean[])[width_bucket(j.id, :ids::uuid[])]
      or j.attempt >= j.max_attempts then j.run_at
    else now() + interval '1 second' * coalesce(
      (:delays::double precision[])[width_bucket(j.id, :ids::uuid[])],
      dibs.backoff_seconds(coalesce(j.backoff, :queue_backoff::json), j.attempt,
        (:jitter_shares::double precision[])[width_bucket(j.id, :ids::uuid[])])
    )
  end,
  finished_at = case
    when j.cancel_requested
      or (:refusals::boolean[])[width_bucket(j.id, :ids::uuid[])]
      or j.attempt >= j.max_attempts then now()
  end,
  last_error = (:errors::text[])[width_bucket(j.id, :ids::uuid[])],
  -- include shared/give_back.sql
  -- A dead job that stays dead needs no key.
  and (
    (:refusals::boolean[])[width_bucket(j.id, :ids::uuid[])]
    or j.attempt >= j.max_attempts
    or
    -- include shared/may_come_back.sql
  )
returning
  -- include shared/given_back.sql
;
