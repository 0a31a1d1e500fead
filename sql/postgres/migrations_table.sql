-- The table of applied migrations. No migration makes this one.
-- `oldest`: the oldest Dibs that works with this migration, named by the last migration that it knows. Null: none that does not know it.
create table if not exists dibs.migrations (
  version integer primary key,
  name text not null,
  applied_at timestamptz not null default now(),
  oldest integer
);
