-- A key by its id, whatever became of it.
select revoked_at, expires_at, encode(hash, 'base64') as hash
from dibs.access_keys
where id = :id;
