-- Cancels a waiting or dead job at once; of a leased one it is only asked for.
update dibs.jobs
set
  state = case when state = 'leased' then state else 'cancelled' end,
  is_head = is_head and state = 'leased',
  cancel_requested = (state = 'leased'),
  finished_at = case when state <> 'leased' then now() end,
  lease_token = case when state = 'leased' then lease_token end
where queue_id = $1
  and id = $2
  and state in ('scheduled', 'ready', 'blocked', 'leased', 'dead')
returning
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result,
  awaited_until > now() as awaited;
