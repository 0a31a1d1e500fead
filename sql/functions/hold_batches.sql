-- Keeps batches open until the commit of a transaction that puts jobs into them. It takes them in the order of their ids, so that
-- no two transactions can deadlock. Its errors are those of src/postgres/errorClasses.ts. The message is the id.
create or replace function dibs.hold_batches(asked uuid[])
returns void
language plpgsql
as $function$
declare
  batch uuid;
  closed timestamptz;
begin
  for batch in
    select distinct id from unnest(asked) as id where id is not null order by id
  loop
    select closed_at into closed from dibs.batches where id = batch for key share;
    if not found then
      raise exception using errcode = 'DB004', message = batch;
    elsif closed is not null then
      raise exception using errcode = 'DB005', message = batch;
    end if;
  end loop;
end;
$function$;

revoke all on function dibs.hold_batches from public;
