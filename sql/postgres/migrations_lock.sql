-- Of replicas that start at once, one migrates; the lock is the transaction's, so it can't leak (0xD1B5).
select pg_advisory_xact_lock(53685);
