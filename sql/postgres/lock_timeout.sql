-- Limits how long this transaction waits for a lock: users' own transactions can hold unique keys and queues for long.
select set_config('lock_timeout', :lock_timeout, true);
