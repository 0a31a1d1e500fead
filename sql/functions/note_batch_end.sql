-- The trigger of dibs.jobs for jobs of batches that end, or come back from an end. See docs/decisions/0095-batches.md.
-- A job that is deleted while a worker has its token was acked, unless the statement says that it is no ack
-- (shared/no_ack.sql).
-- A dead job that somebody deletes counts as cancelled. One that was kept for long enough, or went to a dead letter queue, stays
-- counted as dead. Then, too, the batch can succeed no more.
create or replace function dibs.note_batch_end()
returns trigger
language plpgsql
as $function$
declare
  no_ack constant text := coalesce(current_setting('dibs.no_ack', true), '');
  became dibs.job_state;
begin
  if tg_op = 'UPDATE' then
    if new.moved_to is not null then
      delete from dibs.batch_followers where batch_id = new.batch_id and on_success;
      return null;
    end if;
    became := new.state;
  elsif no_ack = 'undone' then
    -- The transaction that has inserted it takes it back.
    return null;
  elsif old.lease_token is not null and no_ack = '' then
    became := 'completed';
  elsif old.state = 'dead' and no_ack = 'dead' then
    delete from dibs.batch_followers where batch_id = old.batch_id and on_success;
    return null;
  else
    became := 'cancelled';
  end if;

  if became = old.state then
    return null;
  end if;
  if old.state in ('completed', 'cancelled', 'dead') then
    perform dibs.count_batch_end(old.batch_id, old.state, -1);
  end if;
  if became in ('completed', 'cancelled', 'dead') then
    perform dibs.count_batch_end(old.batch_id, became, 1);
  end if;
  return null;
end;
$function$;

revoke all on function dibs.note_batch_end from public;
