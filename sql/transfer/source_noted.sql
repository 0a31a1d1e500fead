-- Those of these jobs that an import has taken into this database.
select key
from dibs.idempotency_keys
where route = :route and key = any (:keys::text[]);
