-- A queue of home was deleted. A queue that was relocated has a place elsewhere by now, and keeps it.
create or replace function dibs.unplace_at_home()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  delete from dibs.placements where queue_id = old.id and database = 'home';
  return null;
end;
$function$;

revoke all on function dibs.unplace_at_home from public;
