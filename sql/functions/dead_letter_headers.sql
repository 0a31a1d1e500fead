-- The headers of a job with those of a dead letter: `queue` is where it died, `error` of what. Without a queue, they are taken away.
-- On what PostgreSQL cannot read, see dead_letter_header.sql.
create or replace function dibs.dead_letter_headers(headers json, queue text, error text)
returns json
language plpgsql
immutable
parallel safe
as $function$
declare
  more jsonb := case
    when queue is null then '{}'
    else jsonb_build_object('dibs-dead-from', queue, 'dibs-dead-error', left(coalesce(error, ''), 1024))
  end;
begin
  return headers::jsonb - 'dibs-dead-from' - 'dibs-dead-error' || more;
exception when data_exception then
  return (
    regexp_replace(
      regexp_replace(headers::text, ',?\s*"dibs-dead-(from|error)":\s*"(?:[^"\\]|\\.)*"', '', 'g'), '\s*\}\s*$', ''
    )
    || case when more = '{}' then '}' else ',' || substr(more::text, 2) end
  )::json;
end;
$function$;

revoke all on function dibs.dead_letter_headers from public;
