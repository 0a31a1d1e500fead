-- Gives jobs that came back their unique keys again (`unique_until` claimed): up to 100 of them, behind a job, or only those with some
-- ids. One whose key another job has taken stays without. One whose key an open transaction is taking is passed over.
-- Returns these jobs with their keys. `ready_in`: the queue of a ready one. The lock may have kept a claim from it.
-- It runs without sequential scans: see insert_unique.sql.
create or replace function dibs.regain_keys(behind_queue integer, behind_id uuid, among uuid[] default null)
returns table (queue_id integer, id uuid, unique_key text, ready_in text)
language plpgsql
set enable_seqscan = off
as $function$
#variable_conflict use_column
declare
  job record;
  page uuid[] := '{}';
  asked uuid;
  waits integer := 0;
begin
  -- It holds the keys that it has given until it commits. So all waits together are short: the next look tries again.
  perform set_config('lock_timeout', '10ms', true);
  for job in
    -- Without a lock: with one, the planner would read the whole table where it takes it for empty.
    select j.queue_id, j.id
    from dibs.jobs j
    where j.own_key is not null
      and dibs.by_index(j.unique_key is null and j.state in ('scheduled', 'ready', 'blocked'))
      and (j.queue_id, j.id) > (behind_queue, behind_id)
      and (among is null or j.id = any (among))
    order by j.queue_id, j.id
    limit 100
  loop
    begin
      update dibs.jobs j
      set unique_key = own_key
      where j.queue_id = job.queue_id
        and j.id = job.id
        and j.unique_key is null
        and j.state in ('scheduled', 'ready', 'blocked');
    exception
      when unique_violation then
        update dibs.jobs j
        set own_key = null
        where j.queue_id = job.queue_id
          and j.id = job.id
          and j.unique_key is null
          and j.state in ('scheduled', 'ready', 'blocked');
      when lock_not_available then
        waits := waits + 1;
        if waits = 4 then
          perform set_config('lock_timeout', '1ms', true);
        end if;
    end;
    page := page || job.id;
  end loop;
  -- Of those that are asked for, also the ones that another look has given their keys just before.
  foreach asked in array coalesce(among, page) loop
    return query
      select j.queue_id, j.id, j.unique_key, case when j.state = 'ready' then q.name end
      from dibs.jobs j
      join dibs.queues q on q.id = j.queue_id
      where j.queue_id = ('x' || right(asked::text, 6))::bit(24)::integer and j.id = asked;
  end loop;
end;
$function$;

revoke all on function dibs.regain_keys from public;
