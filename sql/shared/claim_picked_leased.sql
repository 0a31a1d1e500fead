-- The rest of an UPDATE of dibs.jobs j that leases the picked jobs, after `set`.
-- include shared/claim_lease.sql consumer=consumer_of_slot
where j.queue_id = :queue_id
  and j.id = any ((select ids from picked)::uuid[])
  and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
returning
  ((select slots from picked))[width_bucket(j.id, (select ids from picked))] as slot,
  j.position, j.lease_token, j.payload,
  -- include shared/job_columns.sql
