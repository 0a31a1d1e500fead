-- Writes down the answer under a key; for :open_seconds seconds the request may still be answered something else.
update dibs.idempotency_keys
set status = :status, location = :location, body = :body, open_until = now() + :open_seconds::double precision * interval '1 second'
where route = :route and key = :key;
