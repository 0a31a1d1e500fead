-- Closes a batch, and forgets what should follow it, and what should follow others into it. Its jobs are cancelled after this
-- (batches/cancel_jobs.sql).
create or replace function dibs.cancel_batch(asked uuid)
returns void
language plpgsql
as $function$
begin
  perform from dibs.batches where id = asked for update;
  if not found then
    raise exception using errcode = 'DB004', message = asked;
  end if;
  update dibs.batches
  set closed_at = coalesce(closed_at, now()), cancelled_at = coalesce(cancelled_at, now())
  where id = asked;
  delete from dibs.batch_followers where batch_id = asked or joins = asked;
  perform dibs.end_batch(asked);
end;
$function$;

revoke all on function dibs.cancel_batch from public;
