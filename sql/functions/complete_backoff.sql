-- A backoff with defaults for the fields that were left out, to the microsecond. routes/http/json/jobBody.ts does the same.
create or replace function dibs.complete_backoff(asked json)
returns json
language plpgsql
immutable
as $function$
declare
  longest constant numeric :=
    -- include shared/longest_seconds.sql
  ;
  problem text;
  member record;
  whole jsonb := '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}';
begin
  if asked is null then
    return null;
  end if;
  begin
    if json_typeof(asked) <> 'object' then
      raise invalid_parameter_value using message = 'backoff must be an object';
    end if;
    for member in select key, value, json_typeof(value) as type from json_each(asked) loop
      problem := case member.key
        when 'kind' then case
          when member.type <> 'string' or member.value #>> '{}' not in ('exponential', 'linear', 'constant')
            then 'backoff: kind must be exponential, linear or constant' end
        when 'jitter' then case
          when member.type <> 'number' or (member.value #>> '{}')::numeric not between 0 and 1
            then 'backoff: jitter must be from 0 to 1' end
        when 'base_seconds' then case
          when member.type <> 'number' or (member.value #>> '{}')::numeric not between 0 and longest
            then 'backoff: base_seconds must be from 0 to 31622400' end
        when 'max_seconds' then case
          when member.type <> 'number' or (member.value #>> '{}')::numeric not between 0 and longest
            then 'backoff: max_seconds must be from 0 to 31622400' end
        else format('backoff: %I is not a known field', member.key)
      end;
      if problem is not null then
        raise invalid_parameter_value using message = problem;
      end if;
      whole := whole || jsonb_build_object(member.key, case member.type
        when 'string' then to_jsonb(member.value #>> '{}')
        else to_jsonb(trim_scale(round((member.value #>> '{}')::numeric, 6)))
      end);
    end loop;
    return whole::json;
  exception
    when invalid_parameter_value then
      raise;
    -- A number beyond numeric, a NUL or half of a surrogate pair.
    when data_exception then
      raise invalid_parameter_value using message = 'backoff: ' || sqlerrm;
  end;
end;
$function$;

revoke all on function dibs.complete_backoff from public;
