-- Revokes a key. One that is revoked stays as it is.
update dibs.access_keys
set
  revoked_at = coalesce(revoked_at, now()),
  old_hash = null,
  old_hash_expires_at = null
where id = :id
returning id;
