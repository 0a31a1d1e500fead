-- What requests with an Idempotency-Key were answered, to be answered again to the same request within 24 hours.
create table dibs.idempotency_keys (
  route text not null,
  key text not null,
  -- SHA-256 of the request's body, byte for byte as it came.
  fingerprint bytea not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The answer. Null only until the transaction that takes the key has inserted the jobs.
  status smallint,
  location text,
  body text,

  primary key (route, key),
  constraint idempotency_key check (char_length(key) between 1 and 256),
  constraint idempotency_fingerprint check (octet_length(fingerprint) = 32)
);

create index idempotency_keys_expiry on dibs.idempotency_keys (expires_at);
