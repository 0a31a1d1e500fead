-- Sets what Dibs relies on, whatever defaults the server, the database or the role have (src/postgres/session.ts). It holds for the
-- connection. Behind a pooler, the next transaction has another connection: there it holds for this transaction only. A pooler makes
-- up the number of the process that it tells its clients.
-- It changes only what differs. So no role needs a right that it would not use, and a server that does not know a setting is no matter.
-- default_transaction_read_only is not here: an operator, or a provider whose disk is full, sets it to keep writers away.
select
  pg_backend_pid() <> :process_id::integer as is_pooled,
  count(set_config(name, needed, pg_backend_pid() <> :process_id::integer)) as changed
from (
  values
    -- How values are written and read.
    ('datestyle', 'ISO, MDY', null, false),
    ('timezone', 'UTC', null, false),
    ('extra_float_digits', '1', null, false),
    ('array_nulls', 'on', null, false),
    ('standard_conforming_strings', 'on', null, false),
    -- What names mean. Extensions put functions of their own before those of PostgreSQL.
    ('search_path', 'pg_catalog, pg_temp', null, false),
    -- Without it, triggers and foreign keys do nothing.
    ('session_replication_role', 'origin', null, false),
    -- An answered enqueue survives a crash. Stronger levels stay as they are, and so does `local`.
    ('synchronous_commit', 'on', 'off', false),
    -- A warning says that a commit did not wait for its synchronous standby.
    ('client_min_messages', 'notice', 'error', false),
    -- Each statement waits for what the one before it has committed.
    ('default_transaction_isolation', 'read committed', null, false),
    -- Dibs sets the limits of its statements itself.
    ('statement_timeout', '0', null, false),
    ('lock_timeout', '0', null, false),
    ('transaction_timeout', '0', null, false),
    ('idle_session_timeout', '0', null, false),
    -- The plans that tests hold. They change no answer. So they are left out behind a pooler, where each round trip pays for each setting.
    ('plan_cache_mode', 'auto', null, true),
    ('enable_seqscan', 'on', null, true),
    ('enable_bitmapscan', 'on', null, true),
    ('enable_indexscan', 'on', null, true),
    ('enable_indexonlyscan', 'on', null, true),
    ('enable_sort', 'on', null, true),
    ('enable_incremental_sort', 'on', null, true),
    ('enable_nestloop', 'on', null, true),
    ('enable_hashjoin', 'on', null, true),
    ('enable_mergejoin', 'on', null, true),
    ('enable_hashagg', 'on', null, true),
    ('enable_material', 'on', null, true)
) as relied (name, needed, instead_of, is_of_plans)
where not (is_of_plans and pg_backend_pid() <> :process_id::integer)
  and current_setting(name, true) <> needed
  and (instead_of is null or current_setting(name, true) = instead_of);
