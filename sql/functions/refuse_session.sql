-- Fails with an error of our own (isSessionEnded): the session of a claim has ended. See claim/hold_sessions.sql.
create or replace function dibs.refuse_session()
returns boolean
language plpgsql
as $function$
begin
  raise exception using errcode = 'DB006', message = 'the session has ended';
end;
$function$;

revoke all on function dibs.refuse_session from public;
