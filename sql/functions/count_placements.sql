-- Brings dibs.databases.queues up to date: how many queues are in each database. Its caller holds the row of home.
create or replace function dibs.count_placements()
returns void
language sql
set search_path = pg_catalog, pg_temp
as $function$
  with noted as (
    delete from dibs.placement_changes returning database, change
  )
  update dibs.databases d
  set queues = d.queues + sums.change
  from (select database, sum(change) as change from noted group by database) as sums
  where d.name = sums.database;
$function$;

revoke all on function dibs.count_placements from public;
