-- The running leases of one claim in one queue, for its repetition ($3), which answers for them from now on: whoever
-- answered for them before can't give them back any more (disown.sql). Locked in the order of ids (see ack.sql).
with held as materialized (
  select id
  from dibs.jobs
  where queue_id = $1 and claim_id = $2 and state = 'leased' and lease_expires_at > now()
  order by queue_id, claim_id, id
  for update
)
update dibs.jobs j
set claim_holder = $3
where j.queue_id = $1 and j.id = any (array(select id from held))
returning
  j.position,
  j.id, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.lease_token, j.lease_expires_at, j.worker, j.last_error,
  j.group_key as "group", j.fairness_key, j.unique_key, j.headers, j.progress, j.payload;
