-- Lets one replica migrate when several start at once. The lock ends with the transaction, so it can't leak (0xD1B5).
select pg_advisory_xact_lock(53685);
