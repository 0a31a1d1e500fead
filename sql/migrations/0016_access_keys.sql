-- Access keys. A key itself is nowhere: only its SHA-256. See docs/decisions/0026-access-keys.md.
create table dibs.access_keys (
  id uuid not null,
  name text not null,
  -- SHA-256 of the whole key.
  hash bytea not null,
  -- The key of before the last rotation, which goes on until then.
  old_hash bytea,
  old_hash_expires_at timestamptz,
  scopes text[] not null,
  -- Queue patterns: `mail`, `mail.*`, `*`.
  queues text[] not null,
  -- Put in from ADMIN_KEY_FILE. Such a row stays when it is revoked, so that the next start does not put it in again.
  is_from_file boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  -- To the minute. Written now and then, for all keys that were used.
  last_used_at timestamptz,

  constraint access_keys_pkey primary key (id),
  constraint access_key_name check (name ~ '^[ -~]{1,128}$'),
  constraint access_key_hashes check (octet_length(hash) = 32 and octet_length(old_hash) = 32),
  constraint access_key_overlap check ((old_hash is null) = (old_hash_expires_at is null)),
  constraint access_key_scopes check (
    scopes <@ array['produce', 'consume', 'read', 'admin'] and cardinality(scopes) between 1 and 4
  ),
  constraint access_key_queues check (cardinality(queues) between 1 and 64)
) with (fillfactor = 70);
create unique index access_keys_name on dibs.access_keys (name) where revoked_at is null;
-- Finds the keys that are over, for the pruner and for the reasons in the log.
create index access_keys_over on dibs.access_keys (least(revoked_at, expires_at));

-- One row. Each change of keys changes its version, in the same transaction, so replicas know when to read the keys again.
create table dibs.access_state (
  is_only boolean not null default true,
  version uuid not null,
  -- There was a key at some time: Dibs is never open again.
  has_had_keys boolean not null default false,

  constraint access_state_pkey primary key (is_only),
  constraint access_state_only check (is_only)
);
insert into dibs.access_state (version) values (gen_random_uuid());
