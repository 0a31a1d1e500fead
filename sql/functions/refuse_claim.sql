-- Fails with an error of our own (isClaimTaken): another request has the claim of this one. See claim/own.sql.
create or replace function dibs.refuse_claim()
returns boolean
language plpgsql
as $function$
begin
  raise exception using errcode = 'DB001', message = 'another request holds this claim';
end;
$function$;

revoke all on function dibs.refuse_claim from public;
