-- Who did what with the scope admin. Rows hold names, ids and numbers, and never a payload, a key or an error text. See
-- docs/decisions/0028-audit.md.
create table dibs.audit (
  -- Ascends with time. The difference of two ids bounds the number of rows between them.
  id bigint generated always as identity,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '90 days',
  actor text not null,
  -- Null: nobody needs a key.
  actor_id text,
  verb text not null,
  queue text,
  job_id uuid,
  schedule text,
  key_id text,
  -- How many jobs it was done to.
  count bigint,
  -- `done`, `failed`, or the code of the refusal.
  outcome text not null,
  address text,
  request_id text,

  constraint audit_pkey primary key (id)
);
create index audit_expiry on dibs.audit (expires_at);
create index audit_created on dibs.audit (created_at);
