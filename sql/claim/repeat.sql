-- The running leases of one claim in one queue, for the request that repeats it. From now on this request (:claim_holder)
-- answers for them: a request that answered for them before can't give them back any more (unname.sql).
-- The rows are locked in the order of their ids, so that this and a settling batch cannot deadlock.
with held as materialized (
  select id
  from dibs.jobs
  where queue_id = :queue_id and claim_id = :claim_id and state = 'leased' and lease_expires_at > now()
  order by queue_id, claim_id, id
  for update
)
update dibs.jobs j
set claim_holder = :claim_holder
where j.queue_id = :queue_id and j.id = any (array(select id from held))
returning
  j.position, j.lease_token, j.payload,
  -- include shared/job_columns.sql
;
