-- The trigger of dibs.jobs that notes what became of an attempt, and what somebody did to a job: see
-- docs/decisions/0031-history.md. The WHEN of the trigger (migration 0020) leaves claims, acks and extensions out.
-- A rescue leaves the lease token, a nack and a release take it away, and a retry gives all attempts back. Settings of the
-- transaction tell who acts (postgres/act.sql), and that a retry is a redrive.
-- Now and then it deletes what is older than the newest 51 rows of the job. The 51st tells a reader that there were more.
create or replace function dibs.note_history()
returns trigger
language plpgsql
as $function$
declare
  what text;
  noted bigint;
  -- JSON: a name, or names by id. After a transaction that has set it, it is an empty text.
  actors text := nullif(current_setting('dibs.actor', true), '');
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
    else coalesce(nullif(current_setting('dibs.event', true), ''), 'retried')
  end;
  if what = 'moved' then
    update dibs.history set queue_id = new.queue_id, job_id = new.id where job_id = old.id;
  end if;
  insert into dibs.history (queue_id, job_id, event, state, attempt, deliveries, worker, error, run_at, leased_at, actor)
  values (
    new.queue_id,
    new.id,
    what,
    new.state,
    old.attempt,
    old.deliveries,
    case when old.state = 'leased' then old.worker end,
    case when what in ('nacked', 'rescued', 'expired') then left(new.last_error, 2000) end,
    case when new.state in ('scheduled', 'ready', 'blocked') then new.run_at end,
    -- A job that came back has a later run_at. So a lease that an older replica gave does not look as if it began with the one before.
    case when old.state = 'leased' and old.leased_at >= old.run_at then old.leased_at end,
    -- Dibs takes back leases by itself, and expires jobs.
    case
      when what in ('rescued', 'expired') then null
      when actors like '{%' then actors::json ->> old.id::text
      else actors::json #>> '{}'
    end
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
