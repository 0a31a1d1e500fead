-- The trigger that looks, at the commit of a transaction, at each batch of which it has ended jobs.
-- It takes them in the order of their ids, so that no two transactions can deadlock.
create or replace function dibs.look_at_batches()
returns trigger
language plpgsql
as $function$
declare
  noted constant text := coalesce(current_setting('dibs.batches', true), '');
  batch uuid;
begin
  -- What the ends of these batches end is noted anew, and looked at after this.
  perform set_config('dibs.batches', '', true);
  for batch in
    select distinct substr(noted, i, 36)::uuid as id
    from generate_series(1, length(noted), 36) as i
    order by id
  loop
    perform dibs.end_batch(batch);
  end loop;
  return null;
end;
$function$;

revoke all on function dibs.look_at_batches from public;
