-- Gives jobs back unworked: the attempt is not charged. The ids ascend, and what stands beside one is found by
-- bisection: see ack.sql. In a group: see nack.sql.
-- One that the sweeper made dead, and whose unique key somebody may have taken since, is left alone unless $6 is true.
update dibs.jobs j
set
  state = (case
    when j.cancel_requested then 'cancelled'
    when ($5::double precision[])[width_bucket(j.id, $2::uuid[])] > 0 then 'scheduled'
    when j.group_key is not null and not j.is_head then 'blocked'
    else 'ready'
  end)::dibs.job_state,
  is_head = j.is_head and not j.cancel_requested,
  attempt = greatest(j.attempt - 1, 0),
  position = ($4::bigint[])[width_bucket(j.id, $2::uuid[])],
  run_at = case
    when j.cancel_requested then j.run_at
    else now() + interval '1 second' * ($5::double precision[])[width_bucket(j.id, $2::uuid[])]
  end,
  finished_at = case when j.cancel_requested then now() end,
  lease_token = null,
  lease_expires_at = null,
  worker = null
where j.queue_id = $1
  and j.id = any ($2::uuid[])
  and j.id between ($2::uuid[])[1] and ($2::uuid[])[cardinality($2::uuid[])]
  and j.lease_token = ($3::uuid[])[width_bucket(j.id, $2::uuid[])]
  and j.state <> 'completed'
  and (j.state <> 'dead' or j.unique_key is null or $6)
returning
  j.id, j.state, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.group_key as "group", j.fairness_key, j.unique_key,
  j.lease_expires_at, j.finished_at, j.worker, j.last_error, j.headers, j.progress, j.result,
  j.awaited_until > now() as awaited;
