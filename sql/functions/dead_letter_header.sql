-- The header `name` of a dead letter. Null: it has none.
-- On what PostgreSQL cannot read, see text_headers.sql. The last one of the name counts.
create or replace function dibs.dead_letter_header(headers json, name text)
returns text
language plpgsql
immutable
parallel safe
as $function$
begin
  return headers ->> name;
exception when data_exception then
  return (
    select h.value
    from dibs.text_headers(headers) as h
    where h.name = dead_letter_header.name
    order by h.place desc
    limit 1
  );
end;
$function$;

revoke all on function dibs.dead_letter_header from public;
