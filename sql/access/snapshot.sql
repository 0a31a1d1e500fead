-- All keys that are not revoked, and those revoked last: the log says of these that they were.
select
  id,
  name,
  scopes,
  queues,
  encode(hash, 'base64') as hash,
  encode(old_hash, 'base64') as old_hash,
  old_hash_expires_at,
  expires_at,
  revoked_at
from dibs.access_keys
where revoked_at is null
union all
(
  select id, name, scopes, queues, encode(hash, 'base64'), encode(old_hash, 'base64'), old_hash_expires_at, expires_at, revoked_at
  from dibs.access_keys
  where revoked_at is not null
  order by revoked_at desc
  limit 1000
);
