-- How many jobs of a batch are unfinished, counted up to a number.
-- It reads the index jobs_batch from its end, where the newest jobs are: entries of jobs that are gone lie before them.
-- It is stable, so its looks are of one moment. Else it would miss a job that goes from one state to another between two of them:
-- https://www.postgresql.org/docs/current/xfunc-volatility.html
create or replace function dibs.unfinished_in_batch(batch uuid, most integer)
returns integer
language plpgsql
stable
as $function$
declare
  found integer := 0;
  one dibs.job_state;
begin
  foreach one in array '{ready, leased, scheduled, blocked}'::dibs.job_state[] loop
    found := found + (
      select count(*)
      from (
        select
        from dibs.jobs j
        where j.batch_id = batch and j.state = one
        order by j.batch_id desc, j.state desc, j.id desc
        limit most - found
      ) as counted
    );
    exit when found >= most;
  end loop;
  return found;
end;
$function$;

revoke all on function dibs.unfinished_in_batch from public;
