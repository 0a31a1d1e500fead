-- Closes a batch: no more jobs come in, but those that its own jobs add. FOR UPDATE waits for transactions that put jobs in
-- (hold_batches.sql). One that has no unfinished jobs ends at once.
create or replace function dibs.close_batch(asked uuid)
returns void
language plpgsql
as $function$
declare
  closed timestamptz;
begin
  select closed_at into closed from dibs.batches where id = asked for update;
  if not found then
    raise exception using errcode = 'DB004', message = asked;
  elsif closed is not null then
    raise exception using errcode = 'DB005', message = asked;
  end if;
  update dibs.batches set closed_at = now() where id = asked;
  perform dibs.end_batch(asked);
end;
$function$;

revoke all on function dibs.close_batch from public;
