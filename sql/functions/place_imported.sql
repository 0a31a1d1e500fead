-- Gives those of these queues of an export a place that have none, in home, by the rule of place.sql. A queue keeps its number. Without
-- one, it gets a new one. Returns the places of all of them.
create or replace function dibs.place_imported(numbers integer[], names text[])
returns setof dibs.placements
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
  asked text;
  number integer;
  away text[] := '{}';
begin
  perform from dibs.databases d where d.name = 'home' for update;
  for number, asked in select new.number, new.name from unnest(numbers, names) as new (number, name) loop
    continue when exists (select from dibs.placements p where p.name = asked);
    insert into dibs.placements (queue_id, name, database)
    values (
      coalesce(number, dibs.next_queue_id()),
      asked,
      coalesce(
        -- include shared/database_for.sql
        ,
        'home'
      )
    );
  end loop;
  return query select * from dibs.placements p where p.name = any (names);
end;
$function$;

revoke all on function dibs.place_imported from public;
