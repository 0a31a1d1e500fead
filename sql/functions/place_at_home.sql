-- A queue is created here. Where this is the home of several databases, it gets a place, unless it lives elsewhere. So a
-- replica that knows no other database, and dibs.enqueue, create no second queue of a name. With one database, dibs.databases is
-- empty.
-- A relocation that brings a queue here, or back, sets `dibs.arriving` (relocation/arriving.sql).
create or replace function dibs.place_at_home()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  place dibs.placements;
begin
  if not exists (select from dibs.databases) or current_setting('dibs.arriving', true) = new.id::text then
    return new;
  end if;
  insert into dibs.placements (queue_id, name, database) values (new.id, new.name, 'home') on conflict (name) do nothing;
  select * into place from dibs.placements p where p.name = new.name;
  if place.database <> 'home' then
    raise exception using
      errcode = 'DB003', message = format('Queue %s lives in the database %s', new.name, place.database);
  end if;
  if place.moving_to is not null then
    raise exception using
      errcode = 'DB003',
      message = format('Queue %s is being relocated to the database %s. Try again later', new.name, place.moving_to);
  end if;
  new.id := place.queue_id;
  return new;
end;
$function$;

revoke all on function dibs.place_at_home from public;
