-- Limits the transaction. It ends when its client, which may be frozen, stays silent for 5 s. So nobody waits long for a lock
-- that it holds.
set_config('idle_in_transaction_session_timeout', '5s', true) as idle_timeout
