-- Notes that a database has a queue more, or fewer. A row of its own, so that nobody waits for the transaction that notes it.
create or replace function dibs.count_placement()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
  insert into dibs.placement_changes (database, change)
  select changed.database, changed.change
  from (values (case when tg_op <> 'INSERT' then old.database end, -1), (case when tg_op <> 'DELETE' then new.database end, 1))
    as changed (database, change)
  where changed.database is not null;
  return null;
end;
$function$;

revoke all on function dibs.count_placement from public;
