-- Gives those of these queues of an export a place that have none, in home, by the rule of place.sql. A queue keeps its number. Without
-- one, it gets a new one. All names are taken in one order, as place.sql takes them. Returns the places of all of them.
create or replace function dibs.place_imported(numbers integer[], names text[])
returns setof dibs.placements
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  insert into dibs.placements (queue_id, name)
  select coalesce(new.number, dibs.next_queue_id()), new.name
  from unnest(numbers, names) as new (number, name)
  where not exists (select from dibs.placements p where p.name = new.name)
  order by new.name
  on conflict (name) do nothing;
  return query select * from dibs.place(names, null, '{}');
end;
$function$;

revoke all on function dibs.place_imported from public;
