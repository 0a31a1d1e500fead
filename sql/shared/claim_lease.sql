-- Leases the picked jobs to their consumers: the rest of an UPDATE of dibs.jobs j.
-- The token is a hash over the nonce of the consumer and the id of the job. So it cannot be guessed, and each lease has
-- its own.
-- A job whose key holds until it is claimed frees it.
-- The times are those of the statement, and not of the transaction. That may have begun before another replica ended
-- the lease before, and two leases of a job must not overlap.
state = 'leased',
unique_key = case when j.own_key is null then j.unique_key end,
attempt = j.attempt + 1,
deliveries = j.deliveries + 1,
lease_token = encode(substring(sha256(
  uuid_send((:nonces::uuid[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]])
    || uuid_send(j.id)
) for 16), 'hex')::uuid,
lease_expires_at = statement_timestamp() + interval '1 second'
  * (:lease_seconds::double precision[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]],
leased_at = statement_timestamp(),
lease_seconds = null,
worker = (:workers::text[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]],
claim_id = null,
claim_holder = (:claim_holders::uuid[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]],
session_id = (:sessions::uuid[])[((select consumers from picked))[width_bucket(j.id, (select ids from picked))]]
where j.queue_id = :queue_id
  and j.id = any ((select ids from picked)::uuid[])
  and j.id between (select ids[1] from picked) and (select ids[cardinality(ids)] from picked)
returning
  ((select slots from picked))[width_bucket(j.id, (select ids from picked))] as slot,
  j.position, j.lease_token, j.payload,
  (select rank from passed) as passed_rank, (select position from passed) as passed_position,
  -- include shared/job_columns.sql
