-- Writes down the answer under the key that this transaction has taken.
update dibs.idempotency_keys
set status = $3, location = $4, body = $5
where route = $1 and key = $2;
