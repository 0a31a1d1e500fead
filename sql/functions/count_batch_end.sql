-- Notes that a job of a batch has ended in a state (1), or has come back from it (-1). At its commit, the transaction looks whether
-- that was the last one: see look_at_batches.sql. The setting has the batches that it will look at.
create or replace function dibs.count_batch_end(batch uuid, state dibs.job_state, change integer)
returns void
language plpgsql
as $function$
declare
  noted text := coalesce(current_setting('dibs.batches', true), '');
  is_noted boolean := strpos(noted, batch::text) > 0;
begin
  if not is_noted then
    perform set_config('dibs.batches', noted || batch, true);
  end if;
  insert into dibs.batch_ends (batch_id, state, change, looks)
  values (batch, state, change, noted = '');
end;
$function$;

revoke all on function dibs.count_batch_end from public;
