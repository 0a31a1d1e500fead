-- Finds the running leases of one queue whose claims never got an answer from the database. A lease token is a hash
-- over the nonce of the claim and the id of the job (shared/claim_lease.sql). So the nonces tell which leases these
-- are.
-- It reads all running leases of the queue, so it runs only after an outage. A lease that has run out is for the
-- sweeper.
select j.id, j.lease_token
from dibs.jobs j
cross join unnest(:nonces::uuid[]) as claim (nonce)
where j.queue_id = :queue_id
  and j.state = 'leased'
  and j.lease_expires_at > statement_timestamp()
  and j.lease_token = encode(substring(sha256(uuid_send(claim.nonce) || uuid_send(j.id)) for 16), 'hex')::uuid;
