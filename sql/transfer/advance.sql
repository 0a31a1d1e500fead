-- Keeps how far an import has come.
update dibs.idempotency_keys
set body = :body
where route = 'dibs import' and key = :key;
