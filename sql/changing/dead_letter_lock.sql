-- One transaction at a time sets a dead letter queue, so that no two of them make a circle. Its end frees the lock.
select pg_advisory_xact_lock(53686);
