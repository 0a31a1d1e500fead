-- Takes a key for this transaction. No row comes back when an answer of the last 24 hours is kept under the key.
-- While another transaction holds the key, the insert waits for the end of that transaction. The client of that
-- transaction may be frozen: then the server ends it, see shared/transaction_limits.sql.
with bounds as materialized (
  select
    -- include shared/transaction_limits.sql
)
insert into dibs.idempotency_keys as held (route, key, fingerprint, expires_at)
select :route, :key, decode(:fingerprint, 'hex'), now() + interval '24 hours'
from bounds
on conflict (route, key) do update
set
  fingerprint = excluded.fingerprint,
  created_at = excluded.created_at,
  expires_at = excluded.expires_at
where held.expires_at <= excluded.created_at
returning key;
