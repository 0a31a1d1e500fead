-- A line for each access key, with its hash. A hash opens nothing.
select json_strip_nulls(row_to_json(line))::text as line
from (
  select
    'key' as kind, id, name, encode(hash, 'hex') as hash, encode(old_hash, 'hex') as old_hash, old_hash_expires_at,
    scopes, queues, is_from_file, created_at, expires_at, revoked_at, last_used_at
  from dibs.access_keys
  order by id
) as line;
