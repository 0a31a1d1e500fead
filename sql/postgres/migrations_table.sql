-- The table of applied migrations, and its schema. No migration makes these two.
create schema if not exists dibs;
create table if not exists dibs.migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
);
