-- What a request with this key was answered, and whether its body was the same.
select fingerprint = decode($3, 'hex') as matches, status, location, body
from dibs.idempotency_keys
where route = $1 and key = $2 and expires_at > now();
