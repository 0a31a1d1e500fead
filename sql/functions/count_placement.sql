-- Keeps dibs.databases.queues: how many queues are in each database.
create or replace function dibs.count_placement()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  if tg_op <> 'INSERT' then
    update dibs.databases set queues = queues - 1 where name = old.database;
  end if;
  if tg_op <> 'DELETE' then
    update dibs.databases set queues = queues + 1 where name = new.database;
  end if;
  return null;
end;
$function$;

revoke all on function dibs.count_placement from public;
