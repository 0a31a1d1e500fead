-- The trigger of dibs.jobs that notes what became of an attempt, and what somebody did to a job: see
-- docs/decisions/0031-history.md. The WHEN of the trigger (migration 0020) leaves claims, acks and extensions out.
-- A rescue leaves the lease token, a nack and a release take it away, and a retry gives all attempts back.
-- Now and then it deletes what is older than the newest 51 rows of the job. The 51st tells a reader that there were more.
create or replace function dibs.note_history()
returns trigger
language plpgsql
as $function$
declare
  what text;
  noted bigint;
begin
  if current_setting('dibs.history', true) = 'off' then
    return null;
  end if;
  what := case
    when new.queue_id <> old.queue_id then 'moved'
    when new.state = 'leased' then 'cancel_requested'
    when new.state = 'cancelled' then 'cancelled'
    when old.state = 'leased' and new.lease_token is not null then 'rescued'
    when old.lease_token is not null and new.lease_token is null and new.attempt < old.attempt then 'released'
    when old.lease_token is not null and new.lease_token is null then 'nacked'
    when new.state = 'dead' then 'expired'
    else 'retried'
  end;
  if what = 'moved' then
    update dibs.history set queue_id = new.queue_id, job_id = new.id where job_id = old.id;
  end if;
  insert into dibs.history (queue_id, job_id, event, state, attempt, deliveries, worker, error, run_at)
  values (
    new.queue_id,
    new.id,
    what,
    new.state,
    old.attempt,
    old.deliveries,
    case when old.state = 'leased' then old.worker end,
    case when what in ('nacked', 'rescued', 'expired') then left(new.last_error, 2000) end,
    case when new.state in ('scheduled', 'ready', 'blocked') then new.run_at end
  )
  returning id into noted;
  if noted % 8 = 0 then
    delete from dibs.history
    where job_id = new.id
      and id <= (select id from dibs.history where job_id = new.id order by id desc offset 51 limit 1);
  end if;
  return null;
end;
$function$;

revoke all on function dibs.note_history from public;
