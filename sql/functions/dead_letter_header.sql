-- The header `name` of a dead letter. Null: it has none.
-- JSON may hold half of a surrogate pair, and PostgreSQL reads no member of such an object. Then it is found in the text, where
-- the last one of the name counts.
create or replace function dibs.dead_letter_header(headers json, name text)
returns text
language plpgsql
immutable
parallel safe
as $function$
begin
  return headers ->> name;
exception when data_exception then
  return (regexp_match(headers::text, '^.*"' || name || '":\s*"((?:[^"\\]|\\.)*)"'))[1];
end;
$function$;

revoke all on function dibs.dead_letter_header from public;
