-- Begins an import, unless it has begun before. It is kept like the answer to a request with an idempotency key: the row
-- tells a repeat of the import how far it came.
insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, body)
values ('dibs import', :key, decode(:fingerprint, 'hex'), now() + interval '366 days', '{"lines":0}')
on conflict (route, key) do nothing;
