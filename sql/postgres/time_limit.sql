-- Limits how long each statement of the transaction may run, and wait for a lock, on the server. The client's own limit is a little
-- longer: when it gives up, nothing runs on behind its back. For the transaction only: behind a pooler, the next one has another
-- connection. Turns off compiling, as generic_plans.sql does: it takes longer than a survey may.
select
  set_config('statement_timeout', :statement_timeout, true) as statement_timeout,
  set_config('jit', 'off', true) as jit;
