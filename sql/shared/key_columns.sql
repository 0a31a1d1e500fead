-- A key as its administrators see it.
id, name, scopes, queues, created_at, expires_at, revoked_at, last_used_at, old_hash_expires_at as old_key_expires_at
