-- Fails as the index jobs_unique does: an open window holds a unique key. See enqueue/check_windows.sql.
create or replace function dibs.refuse_key()
returns boolean
language plpgsql
as $function$
begin
  raise exception using
    errcode = 'unique_violation', constraint = 'jobs_unique', message = 'an open window holds a unique key';
end;
$function$;

revoke all on function dibs.refuse_key from public;
