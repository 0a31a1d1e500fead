-- Inserts jobs as enqueue.sql does, from functions; one whose unique key an unfinished job holds is left out. A key that an
-- open transaction has taken, or is about to free, is waited for.
create or replace function dibs.insert_jobs(
  integer, uuid[], double precision[], timestamptz[], smallint[], integer[], text[], text[], text[],
  text[], text[], text[], double precision[], double precision[], bigint[]
)
returns table (id uuid, state dibs.job_state, run_at timestamptz, created_at timestamptz)
language plpgsql
as $function$
#variable_conflict use_column
begin
  return query
  -- include enqueue/insert.sql
end;
$function$;

revoke all on function dibs.insert_jobs from public;
