-- Limits the transaction: it waits for a lock no longer than :lock_timeout, and ends when its client stays silent for 5 s
-- (the client may be frozen), so that nobody waits long for a lock that it holds.
set_config('lock_timeout', :lock_timeout, true) as lock_timeout,
set_config('idle_in_transaction_session_timeout', '5s', true) as idle_timeout
