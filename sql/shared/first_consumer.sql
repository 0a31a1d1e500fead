-- The only consumer of a claim: see claim_lease.sql.
1
