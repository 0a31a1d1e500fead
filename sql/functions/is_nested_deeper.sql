-- Whether a JSON text is nested deeper than `levels`. It keeps only the brackets outside of strings, and takes away the
-- innermost pairs, level by level. It reads no value, so no number or character can be too odd for it. Its texts with a backslash
-- begin with E: others depend on the standard_conforming_strings of the session that calls dibs.enqueue.
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
    from unnest(string_to_array(replace(replace(value::text, E'\\\\', ''), E'\\"', ''), '"')) with ordinality as text (part, n)
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
