-- What a request with this key was answered, whether its body was the same, and whether it still waits for its job.
select fingerprint = decode(:fingerprint, 'hex') as matches, status, location, body, open_until > now() as open
from dibs.idempotency_keys
where route = :route and key = :key and expires_at > now();
