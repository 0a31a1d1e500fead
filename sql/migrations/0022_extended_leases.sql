-- How long the claim gave the lease for, once it has been extended. Until then lease_expires_at and leased_at tell it.
-- A replica of an older Dibs writes it neither when it extends a lease, nor when it gives a new one.
alter table dibs.jobs add column lease_seconds double precision;
