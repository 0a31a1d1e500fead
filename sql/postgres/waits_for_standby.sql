-- Whether commits here may wait for a synchronous standby.
select current_setting('synchronous_standby_names') <> '' as waits_for_standby;
