-- Enqueues a job in the caller's transaction, as POST /jobs does by itself: see docs/producing.md. Returns its id or, when
-- another holds its unique key, that one's.
--
-- It runs with the rights of its owner, so a role that may execute it and use the schema can enqueue and nothing else.
create or replace function dibs.enqueue(
  queue text,
  payload json default 'null',
  headers json default '{}',
  priority integer default 0,
  delay_seconds double precision default null,
  run_at timestamptz default null,
  max_attempts integer default null,
  backoff json default null,
  unique_key text default null,
  unique_for_seconds double precision default null,
  "group" text default null,
  fairness_key text default null,
  expires_in_seconds double precision default null
)
returns uuid
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
#variable_conflict use_variable
declare
  found_queue dibs.queues;
  id uuid;
  job dibs.jobs;
begin
  payload := coalesce(payload, 'null');
  headers := coalesce(headers, '{}');
  priority := coalesce(priority, 0);
  perform dibs.check_enqueue(
    queue, payload, headers, priority, delay_seconds, run_at, max_attempts, unique_key, unique_for_seconds, "group",
    fairness_key, expires_in_seconds
  );
  backoff := dibs.complete_backoff(backoff);

  loop
    select * into found_queue from dibs.queues q where q.name = queue;
    if found then
      if found_queue.max_ready is not null and dibs.room(found_queue.id) = 0 then
        raise configuration_limit_exceeded using message = format('queue %s is full: it has max_ready jobs already', queue);
      end if;
      if fairness_key is not null and not found_queue.fair then
        update dibs.queues q set fair = true where q.id = found_queue.id;
      end if;
      id := dibs.new_id(found_queue.id);
      select * into job
      from dibs.insert_unique(
        found_queue.id,
        array[id],
        array[coalesce(delay_seconds, 0)],
        array[run_at],
        array[priority::smallint],
        array[coalesce(max_attempts, found_queue.max_attempts)],
        array[backoff::text],
        array[headers::text],
        array[payload::text],
        array[unique_key],
        array["group"],
        array[fairness_key],
        array[expires_in_seconds],
        null,
        array[unique_for_seconds]
      );
      exit when found;
    end if;
    -- Looked for first, as an insert that conflicts would use up one of the 16 million ids.
    insert into dibs.queues (name) values (queue) on conflict (name) do nothing;
  end loop;

  -- Delivered when the transaction commits; PostgreSQL keeps one of those that are the same.
  if job.id = id and job.state in ('ready', 'blocked') then
    perform pg_notify('dibs', concat_ws(' ', job.state, 'sql', queue, "group"));
  end if;
  return job.id;
end;
$function$;

revoke all on function dibs.enqueue from public;
