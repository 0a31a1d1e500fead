-- The queue of all ways in SQL: who needs no `held` or `leased_until` leaves them as they are.
create table queue (
  id bigint generated always as identity primary key,
  payload text not null,
  held boolean not null default false,
  leased_until timestamptz
);
