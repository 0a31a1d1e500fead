-- The application name of the session that owns the embedded server.
select application_name as name
from pg_locks
join pg_stat_activity using (pid)
where locktype = 'advisory'
  and classid = 0
  and objid = :lock_key
  and objsubid = 1
  and granted
  and pg_locks.database = (select oid from pg_database where datname = current_database());
