-- How far an import has come. The lock lasts until the batch has committed, so that two imports of one file take turns.
select body
from dibs.idempotency_keys
where route = 'dibs import' and key = :key
for update;
