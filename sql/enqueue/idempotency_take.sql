-- Takes a key for this transaction; no row comes back when a request with it was answered within 24 hours.
-- While another transaction holds the key, the insert waits for its end, and no longer than lock_timeout: the client of
-- that one may be frozen. So that nobody has to wait for it long, the server ends a transaction that comes to rest.
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
