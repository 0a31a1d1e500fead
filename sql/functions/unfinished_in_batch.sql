-- How many jobs of a batch are unfinished, counted up to a number.
-- It reads the index jobs_batch from its end, where the newest jobs are: entries of jobs that are gone lie before them.
create or replace function dibs.unfinished_in_batch(batch uuid, most integer)
returns integer
language plpgsql
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
