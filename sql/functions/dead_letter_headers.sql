-- The headers of a job with those of a dead letter: `queue` is where it died, `error` of what. Without a queue, they are taken away.
-- On what PostgreSQL cannot read, see text_headers.sql.
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
    select '{' || concat_ws(',', string_agg(h.member, ',' order by h.place), nullif(btrim(more::text, '{}'), '')) || '}'
    from dibs.text_headers(headers) as h
    where h.name not in ('dibs-dead-from', 'dibs-dead-error')
  )::json;
end;
$function$;

revoke all on function dibs.dead_letter_headers from public;
