-- How long this transaction waits for a lock. Users' own transactions can hold unique keys and queues, for any time.
select set_config('lock_timeout', :lock_timeout, true);
