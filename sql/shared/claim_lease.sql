-- Leases jobs to their consumers: the SET list of an UPDATE of dibs.jobs j. A fragment tells the consumer of a job.
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
  uuid_send((:nonces::uuid[])[
    -- include shared/{consumer}.sql
  ]) || uuid_send(j.id)
) for 16), 'hex')::uuid,
lease_expires_at = statement_timestamp() + interval '1 second' * (:lease_seconds::double precision[])[
  -- include shared/{consumer}.sql
],
leased_at = statement_timestamp(),
lease_seconds = null,
worker = (:workers::text[])[
  -- include shared/{consumer}.sql
],
claim_id = null,
claim_holder = (:claim_holders::uuid[])[
  -- include shared/{consumer}.sql
],
session_id = (:sessions::uuid[])[
  -- include shared/{consumer}.sql
]
