-- What has been migrated; the only objects that no migration makes.
create schema if not exists dibs;
create table if not exists dibs.migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
);
