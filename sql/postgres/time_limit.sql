-- Limits how long each statement of the transaction may run, and wait for a lock, on the server. The client's own limit is a little
-- longer: when it gives up, nothing runs on behind its back. For the transaction only: behind a pooler, the next one has another
-- connection. Turns off compiling, as generic_plans.sql does: it takes longer than a survey may.
-- Without a :lock_timeout, that limit stays.
-- Tells whether this connection takes writes: not on a standby, and not where transactions are read-only.
select
  set_config('statement_timeout', :statement_timeout, true) as statement_timeout,
  set_config('lock_timeout', coalesce(:lock_timeout, current_setting('lock_timeout')), true) as lock_timeout,
  set_config('jit', 'off', true) as jit,
  current_setting('transaction_read_only')::boolean as is_read_only;
