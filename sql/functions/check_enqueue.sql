-- Refuses what POST /jobs would refuse, in words that name the argument (22023, invalid_parameter_value).
create or replace function dibs.check_enqueue(
  queue text,
  payload json,
  headers json,
  priority integer,
  delay_seconds double precision,
  run_at timestamptz,
  max_attempts integer,
  unique_key text,
  unique_for_seconds double precision,
  group_key text,
  fairness_key text,
  expires_in_seconds double precision
)
returns void
language plpgsql
as $function$
declare
  longest constant double precision := 366 * 86400;
  problem text;
begin
  -- Without a sub-select, what nearly every job passes is an expression that takes 10 microseconds less.
  problem := case
    when queue is null or queue !~ '^[A-Za-z0-9._:-]{1,128}$'
      then 'queue must be 1 to 128 of A-Z a-z 0-9 . _ : -'
    when octet_length(payload::text) > 1048576 then 'payload must not be larger than 1 MiB'
    when dibs.is_nested_deeper(payload, 1000) then 'payload must not be nested deeper than 1000 levels'
    when json_typeof(headers) <> 'object' then 'headers must be an object'
    when priority not between -100 and 100 then 'priority must be from -100 to 100'
    when delay_seconds is not null and run_at is not null then 'run_at must not stand beside delay_seconds'
    when delay_seconds not between 0 and longest then 'delay_seconds must be from 0 to 31622400'
    when run_at > clock_timestamp() + interval '366 days' then 'run_at must be within 366 days from now'
    when max_attempts not between 1 and 1000 then 'max_attempts must be from 1 to 1000'
    when char_length(unique_key) not between 1 and 256 then 'unique_key must have 1 to 256 characters'
    when unique_for_seconds is not null and unique_key is null then 'unique_for_seconds needs a unique_key'
    when unique_for_seconds not between 0 and longest then 'unique_for_seconds must be from 0 to 31622400'
    when char_length(group_key) not between 1 and 256 then 'group must have 1 to 256 characters'
    when char_length(fairness_key) not between 1 and 256 then 'fairness_key must have 1 to 256 characters'
    when expires_in_seconds <= 0 or expires_in_seconds > longest
      then 'expires_in_seconds must be more than 0, and up to 31622400'
  end;
  if problem is null and headers::text <> '{}' then
    problem := (
      select case
        when count(*) > 32 then 'headers must be up to 32'
        when bool_or(json_typeof(header.value) <> 'string') then 'headers must be strings'
        when bool_or(char_length(header.key) > 128) then 'names of headers must have up to 128 characters'
        when bool_or(char_length(header.value #>> '{}') > 1024) then 'headers must have up to 1024 characters'
      end
      from json_each(headers) as header
    );
  end if;
  if problem is not null then
    raise invalid_parameter_value using message = problem;
  end if;
end;
$function$;

revoke all on function dibs.check_enqueue from public;
