-- Keeps the answer of a request under its key. For :open_seconds another answer may replace it. Null: this one is
-- final.
update dibs.idempotency_keys
set status = :status, location = :location, body = :body, open_until = now() + :open_seconds::double precision * interval '1 second'
where route = :route and key = :key;
