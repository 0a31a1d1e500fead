-- Which of these processes wait for a synchronous standby. A role sees what its own processes wait for.
select pid from pg_stat_activity where pid = any (:pids::integer[]) and wait_event = 'SyncRep';
