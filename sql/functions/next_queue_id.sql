-- The number of a new queue: the next one, and when all were given, one of a queue that is gone. Nothing may name that queue any more. It
-- runs with the rights of its owner: a role that may create queues need not see what there is to look at.
-- Most numbers that have rested are good. One that is not rests anew, so that it is in nobody's way.
create or replace function dibs.next_queue_id()
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
  number integer;
  since timestamptz;
  here constant text := (select d.name from dibs.this_database d);
begin
  -- Only home knows where a queue lives.
  if here <> 'home' then
    raise exception using
      errcode = 'DB003',
      message = format('The queue is not in this database, %s. Enqueue into the one where it lives, or have Dibs create it', here),
      hint = 'Ask Dibs for the queue: it tells the database. In the database home, dibs.placements has it';
  end if;
  -- Where home has forgotten numbers, adopt.sql gives some of them a place before the sequence has passed them.
  loop
    number := nextval('dibs.queue_ids');
    exit when not exists (select from dibs.placements p where p.queue_id = number);
  end loop;
  return number;
exception when sequence_generator_limit_exceeded then
  for number, since in
    select f.queue_id, f.since
    from dibs.free_queue_ids f
    where f.since <= now() -
      -- include shared/number_rest.sql
    order by f.since
    limit 100
  loop
    perform from dibs.free_queue_ids f where f.queue_id = number for update skip locked;
    continue when not found;
    if dibs.is_queue_named(number, since) then
      update dibs.free_queue_ids f set since = now() where f.queue_id = number;
    else
      delete from dibs.free_queue_ids f where f.queue_id = number;
      return number;
    end if;
  end loop;
  raise exception using errcode = 'DB002', message = 'there can be no more queues: all numbers are in use';
end;
$function$;

revoke all on function dibs.next_queue_id from public;
