-- The answer that is kept under a key. `matches` says whether it answers this request, and `open` whether another
-- answer may still replace it.
select fingerprint = decode(:fingerprint, 'hex') as matches, status, location, body, open_until > now() as open
from dibs.idempotency_keys
where route = :route and key = :key and expires_at > now();
