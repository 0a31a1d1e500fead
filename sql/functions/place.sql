-- Gives those of these queues a database that have none, in home: `wish`, else where queues with the same first part of the name
-- are, if it is open, else the open database with the fewest queues, if possible none that is `away`. Where none is open, it is home.
-- Returns the places of all of them. One call at a time: names that come to two replicas at once get one place.
create or replace function dibs.place(names text[], wish text, away text[])
returns setof dibs.placements
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  asked text;
  chosen text;
begin
  perform from dibs.databases d where d.name = 'home' for update;
  foreach asked in array names loop
    continue when exists (select from dibs.placements p where p.name = asked);
    chosen := coalesce(
      wish,
      -- include shared/database_for.sql
      ,
      'home'
    );
    insert into dibs.placements (queue_id, name, database) values (dibs.next_queue_id(), asked, chosen);
  end loop;
  return query select * from dibs.placements p where p.name = any (names);
end;
$function$;

revoke all on function dibs.place from public;
