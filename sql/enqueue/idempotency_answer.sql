-- Writes down the answer under a key; for $6 seconds the request may still be answered something else.
update dibs.idempotency_keys
set status = $3, location = $4, body = $5, open_until = now() + $6::double precision * interval '1 second'
where route = $1 and key = $2;
