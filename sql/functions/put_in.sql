-- Inserts a job in a transaction that may stay open for long, and tells the replicas at its commit. The job is that of
-- dibs.insert_unique: all nulls when the queue is gone.
create or replace function dibs.put_in(
  queue dibs.queues, new dibs.new_job, replaces boolean default false, batch uuid default null,
  frees boolean default false
)
returns dibs.jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
#variable_conflict use_variable
declare
  job dibs.jobs;
  marked bigint[];
begin
  -- Not an update: it must not lock the queue. A replica sees the row after the commit, and notes it at the queue
  -- (src/queues/lookUps.ts).
  if new.fairness_key is not null
    and not queue.fair
    and not exists (select from dibs.fair_marks m where m.queue_id = queue.id)
  then
    insert into dibs.fair_marks (queue_id) values (queue.id);
  end if;
  select * into job
  from dibs.insert_unique(
    queue.id, array[new],
    case when replaces then array[new.unique_key] else '{}' end,
    case when batch is not null then jsonb_build_object(new.id, batch) end,
    case when frees then array[new.unique_key] else '{}' end
  );
  if job.id is distinct from new.id
    and (not replaces or job.state not in ('scheduled', 'ready', 'blocked'))
  then
    return job;
  end if;

  -- This transaction may commit after scan floors have passed the job: see src/floor/arrivals.ts. A mark is for a thousand
  -- positions. The setting holds the last one of this transaction.
  if job.state = 'ready' then
    marked := string_to_array(nullif(current_setting('dibs.marked', true), ''), ' ');
    if marked[1] is distinct from queue.id or job.position >= marked[2] + 1000 then
      insert into dibs.arrival_marks (queue_id, first, last) values (queue.id, job.position, job.position + 999);
      perform set_config('dibs.marked', concat_ws(' ', queue.id, job.position), true);
    end if;
  end if;

  -- Sent when the transaction commits. PostgreSQL keeps one of several equal notifications.
  if job.state in ('ready', 'blocked') then
    perform pg_notify('dibs', concat_ws(' ', job.state, 'sql', queue.name, job.group_key));
  end if;
  -- Replicas may rest until what they know of is due: see src/maintenance/rest.ts.
  if job.state = 'scheduled' or job.expires_at is not null then
    perform pg_notify('dibs', 'due sql');
  end if;
  return job;
end;
$function$;

revoke all on function dibs.put_in from public;
