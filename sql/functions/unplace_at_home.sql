-- A queue of home was deleted. A queue that is being relocated, or was, keeps its place.
create or replace function dibs.unplace_at_home()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  delete from dibs.placements where queue_id = old.id and database = 'home' and moving_to is null;
  return null;
end;
$function$;

revoke all on function dibs.unplace_at_home from public;
