-- What the role of `dibs serve` may do: this list, and nothing else. A test fails when a table is missing here, and when a
-- statement needs more or less. The role can enqueue through dibs.insert_unique, not through dibs.enqueue.
select *
from (values
  ('schema', 'dibs', 'usage'),
  ('table', 'access_keys', 'select, insert, update, delete'),
  ('table', 'access_state', 'select, update'),
  ('table', 'arrival_marks', 'select, insert, update, delete'),
  ('table', 'audit', 'select, insert, update, delete'),
  ('table', 'claim_limits', 'select, insert, update, delete'),
  ('table', 'claim_log', 'select, insert, update, delete'),
  ('table', 'fair_marks', 'select, delete'),
  ('table', 'functions', 'select'),
  ('table', 'history', 'select, insert, update, delete'),
  ('table', 'idempotency_keys', 'select, insert, update, delete'),
  ('table', 'jobs', 'select, insert, update, delete'),
  ('table', 'migrations', 'select'),
  ('table', 'operation_leases', 'select, insert, delete'),
  ('table', 'operations', 'select, insert, update, delete'),
  ('table', 'queues', 'select, insert, update, delete'),
  ('table', 'repeatable_claims', 'select, insert, update, delete'),
  ('table', 'scan_floors', 'select, insert, update, delete'),
  ('table', 'schedules', 'select, insert, update, delete'),
  ('table', 'totals', 'select, insert, update, delete'),
  ('table', 'unique_windows', 'select, insert, update, delete'),
  ('sequence', 'positions', 'usage, select'),
  ('sequence', 'queue_ids', 'usage'),
  ('function', 'backoff_seconds', 'execute'),
  ('function', 'by_index', 'execute'),
  ('function', 'capacity', 'execute'),
  ('function', 'insert_unique', 'execute'),
  ('function', 'is_key_held', 'execute'),
  ('function', 'refuse_claim', 'execute')
) as needed (kind, name, privileges)
