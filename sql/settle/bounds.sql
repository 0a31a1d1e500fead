-- Bounds a transaction: it waits for no lock longer than this, and nobody waits longer for one of its own, should this
-- client freeze.
select
  set_config('lock_timeout', '2s', true),
  set_config('idle_in_transaction_session_timeout', '5s', true);
