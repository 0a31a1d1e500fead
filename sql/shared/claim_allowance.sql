-- How many jobs a claim may lease (`wanted`): as many as the claim limits of the queue allow, and at most :slots.
-- A queue with a claim limit gives none, unless this transaction holds the lock of claim/limit_lock.sql (:holds_lock).
-- A replica that has not heard of the limit yet does not take the lock.
-- Nothing is counted unless `any_ready` says that a job may be ready. Leases are counted row by row, up to max_leased.
-- The claim log has at most 500 entries in a window. An entry counts until its last claim has left the window. So a
-- window is up to 1/500 too long, and never too short.
-- The times are those of the statement, because the transaction may have begun before another claim ended.
allowance as materialized (
  select
    not q.paused as is_open,
    -- include shared/group_limits.sql
    ,
    q.max_leased is not null as counted,
    q.rate_seconds * interval '1 second' / 500 as log_step,
    case
      when q.max_leased is null and q.rate_jobs is null then :slots::integer
      when :holds_lock::boolean and l.queue_id is not null
        then greatest(0, least(:slots::integer, q.max_leased - leased.jobs, q.rate_jobs - claimed.jobs))
      else 0
    end as jobs
  from dibs.queues q
  left join dibs.claim_limits l on l.queue_id = :queue_id
  cross join lateral (
    select count(*)::integer as jobs
    from (
      select
      from dibs.jobs
      where queue_id = :queue_id
        and state = 'leased'
        and counted
        and lease_expires_at >= l.leases_from
      order by queue_id, lease_expires_at
      limit case when (select found from any_ready) then coalesce(q.max_leased, 0) else 0 end
    ) as found
  ) as leased
  cross join lateral (
    select coalesce(sum(jobs), 0) as jobs
    from dibs.claim_log
    where queue_id = :queue_id
      and until > statement_timestamp() - q.rate_seconds * interval '1 second'
      and (select found from any_ready)
  ) as claimed
  where q.id = :queue_id
),
wanted as materialized (
  select
    coalesce(max(jobs), 0)::integer as slots,
    coalesce(bool_and(is_open), false) as is_open,
    coalesce(bool_and(has_one_head), true) as has_one_head,
    max(group_batches) as group_batches,
    max(most_running) as most_running
  from allowance
),
