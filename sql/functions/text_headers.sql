-- The headers of a job as they stand in their text: escapes stay. `member` is a name with its value, `place` counts from 1.
-- JSON may hold half of a surrogate pair, and PostgreSQL reads no member of such an object:
-- https://www.postgresql.org/docs/current/datatype-json.html
create or replace function dibs.text_headers(headers json)
returns table (name text, value text, member text, place bigint)
language sql
immutable
parallel safe
as $function$
  select found.parts[2], found.parts[3], found.parts[1], found.place
  from regexp_matches(headers::text, '("((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)")', 'g')
    with ordinality as found (parts, place);
$function$;

revoke all on function dibs.text_headers from public;
