-- Forgets how far an import has come. Its queues were deleted, so it begins anew.
update dibs.idempotency_keys
set body = '{"lines":0}'
where route = 'dibs import' and key = :key;
