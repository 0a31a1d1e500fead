-- In the target: puts records of idempotency keys in. A key that is known here already keeps its own.
insert into dibs.idempotency_keys
select * from json_populate_recordset(null::dibs.idempotency_keys, :rows::json)
on conflict (route, key) do nothing;
