-- Makes a session the owner of the embedded server, for as long as it lasts; false when another one is.
select pg_try_advisory_lock(:lock_key) as taken;
