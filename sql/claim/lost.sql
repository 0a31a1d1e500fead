-- Leases of one queue that were given under these nonces (see claim.sql). Reads all of the queue's leases: only after
-- an outage.
select j.id, j.lease_token
from dibs.jobs j
cross join unnest($2::uuid[]) as claim (nonce)
where j.queue_id = $1
  and j.state = 'leased'
  and j.lease_token = encode(substring(sha256(uuid_send(claim.nonce) || uuid_send(j.id)) for 16), 'hex')::uuid;
