-- Whether a JSON text is nested deeper than so many levels. Of what stands outside of its strings only the brackets are
-- kept, and then the innermost pairs are taken away until none are left; so no number or character in it can be too odd.
create or replace function dibs.is_nested_deeper(value json, levels integer)
returns boolean
language plpgsql
immutable
as $function$
declare
  brackets text;
begin
  if octet_length(value::text) <= 2 * levels then
    return false;
  end if;
  brackets := (
    select string_agg(translate(part, E'{}0123456789+-.eEtrufalsn,: \t\r\n', '[]'), '')
    from unnest(string_to_array(replace(replace(value::text, '\\', ''), '\"', ''), '"')) with ordinality as text (part, n)
    where n % 2 = 1
  );
  for level in 1 .. levels loop
    exit when brackets = '';
    brackets := replace(brackets, '[]', '');
  end loop;
  return brackets <> '';
end;
$function$;

revoke all on function dibs.is_nested_deeper from public;
