-- The queue of all ways in SQL. A way that needs no `held` or `leased_until` leaves it as it is.
create table queue (
  id bigint generated always as identity primary key,
  payload text not null,
  held boolean not null default false,
  leased_until timestamptz
);
