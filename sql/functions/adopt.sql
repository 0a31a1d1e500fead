-- Home has lost the places of these queues, which the database `place` has: they get them again, as far as neither their number nor
-- their name has another one. No new queue gets their numbers, whether they have got places or not. A sequence is no table, so that
-- nobody can lock it: it goes on number by number, beside others that take some. It runs with the rights of its owner: only they may
-- take a number without a queue.
create or replace function dibs.adopt(ids integer[], names text[], place text)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
  adopted text;
begin
  for adopted in
    insert into dibs.placements (queue_id, name, database)
    select asked.id, asked.name, place
    from unnest(ids, names) as asked (id, name)
    order by asked.name
    on conflict do nothing
    returning name
  loop
    perform pg_notify('dibs', 'placed sql ' || adopted);
  end loop;
  perform nextval('dibs.queue_ids')
  from dibs.queue_ids as given
  cross join generate_series(given.last_value + given.is_called::integer, (select max(id) from unnest(ids) as asked (id)));
end;
$function$;

revoke all on function dibs.adopt from public;
