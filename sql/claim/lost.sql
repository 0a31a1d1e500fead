-- The running leases of one queue that were given under these nonces (see shared/claim_lease.sql). It reads all leases
-- that run: it runs only after an outage. The sweeper rescues the others.
select j.id, j.lease_token
from dibs.jobs j
cross join unnest(:nonces::uuid[]) as claim (nonce)
where j.queue_id = :queue_id
  and j.state = 'leased'
  and j.lease_expires_at > statement_timestamp()
  and j.lease_token = encode(substring(sha256(uuid_send(claim.nonce) || uuid_send(j.id)) for 16), 'hex')::uuid;
