-- Gives those of these queues a database that have none, in home: `wish`, else where queues with the same first part of the name
-- are, if it is open, else the open database with the fewest queues, if possible none that is `away`. Where none is open, it is home.
-- Returns the places of all of them. A name that another transaction places is waited for before the row of home is locked, so that
-- others are placed meanwhile. Then one call at a time: names that come to two replicas at once get one place.
create or replace function dibs.place(names text[], wish text, away text[])
returns setof dibs.placements
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  asked text;
begin
  for asked in select new.name from unnest(names) as new (name) order by new.name loop
    continue when exists (select from dibs.placements p where p.name = asked);
    insert into dibs.placements (queue_id, name) values (dibs.next_queue_id(), asked) on conflict (name) do nothing;
  end loop;
  perform from dibs.databases d where d.name = 'home' for no key update;
  for asked in select p.name from dibs.placements p where p.name = any (names) and p.database is null order by p.queue_id loop
    perform dibs.count_placements();
    update dibs.placements p
    set database = coalesce(
      wish,
      -- include shared/database_for.sql
      ,
      'home'
    )
    where p.name = asked;
  end loop;
  return query select * from dibs.placements p where p.name = any (names);
end;
$function$;

revoke all on function dibs.place from public;
