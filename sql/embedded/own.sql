-- Makes this session the owner of the embedded server, as long as the session lasts. False when another session is.
select pg_try_advisory_lock(:lock_key) as taken;
