-- Whether an unfinished job, or a window that is open, holds a unique key.
-- It runs without sequential scans: see insert_unique.sql.
create or replace function dibs.is_key_held(queue integer, asked text)
returns boolean
language plpgsql
set enable_seqscan = off
as $function$
begin
  return exists (
    select from dibs.jobs
    where queue_id = $1 and unique_key = $2 and state in ('scheduled', 'ready', 'blocked', 'leased')
    offset 0
  ) or exists (
    select from dibs.unique_windows
    where queue_id = $1 and unique_key = $2 and until > clock_timestamp()
    offset 0
  );
end;
$function$;

revoke all on function dibs.is_key_held from public;
