-- Puts in access keys. One with the same id, or with the name of a key that is not revoked, stays as it is.
insert into dibs.access_keys (
  id, name, hash, old_hash, old_hash_expires_at, scopes, queues, is_from_file, created_at, expires_at, revoked_at,
  last_used_at
)
select
  line.id, line.name, decode(line.hash, 'hex'), decode(line.old_hash, 'hex'), line.old_hash_expires_at, line.scopes,
  line.queues, line.is_from_file, line.created_at, line.expires_at, line.revoked_at, line.last_used_at
from json_to_recordset(:lines::json) as line (
  id uuid, name text, hash text, old_hash text, old_hash_expires_at timestamptz, scopes text[], queues text[],
  is_from_file boolean, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz
)
on conflict do nothing
returning id;
