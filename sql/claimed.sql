-- The running leases of one claim in one queue, for its repetition ($3), which answers for them from now on: whoever
-- answered for them before can't give them back any more (disown.sql). Their ids ascend, and are locked so: see ack.sql.
-- ORDER BY names the index: by a plan made while the queue was empty, all of the queue was read.
with held as materialized (
  select array_agg(id order by id) as ids
  from (
    select id
    from dibs.jobs
    where queue_id = $1 and claim_id = $2 and state = 'leased' and lease_expires_at > now()
    order by queue_id, claim_id, position
  ) as found
)
update dibs.jobs j
set claim_holder = $3
where j.queue_id = $1
  and j.id = any ((select ids from held)::uuid[])
  and j.id between (select ids[1] from held) and (select ids[cardinality(ids)] from held)
  and j.claim_id = $2
  and j.lease_expires_at > now()
returning
  j.position,
  j.id, j.priority, j.attempt, j.max_attempts, j.deliveries, j.run_at, j.created_at,
  j.lease_token, j.lease_expires_at, j.worker, j.last_error,
  j.group_key as "group", j.fairness_key, j.unique_key, j.headers, j.progress, j.payload;
