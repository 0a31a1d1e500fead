-- The table of applied migrations. No migration makes this one.
create table if not exists dibs.migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
);
