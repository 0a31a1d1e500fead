-- Enqueues a job in the caller's transaction, as the verb `enqueue` does in its own: see docs/producing.md. It returns the id of
-- the job or, when another job holds its unique key, the id of that job.
-- It refuses what that verb refuses, with a message that names the argument (22023, invalid_parameter_value).
--
-- It runs with the rights of its owner. So a role that may execute it and use the schema can enqueue, and nothing else.
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
  expires_in_seconds double precision default null,
  on_duplicate text default null,
  unique_until text default null
)
returns uuid
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $function$
#variable_conflict use_variable
declare
  longest constant double precision :=
    -- include shared/longest_seconds.sql
  ;
  problem text;
  found_queue dibs.queues;
  id uuid;
  job dibs.jobs;
begin
  payload := coalesce(payload, 'null');
  headers := coalesce(headers, '{}');
  priority := coalesce(priority, 0);

  -- The check of headers stands apart. Nearly every job has none, and an expression without a sub-select is 10
  -- microseconds faster.
  problem := case
    when queue is null or queue !~ '^[A-Za-z0-9._:-]{1,128}$'
      then 'queue must be 1 to 128 of A-Z a-z 0-9 . _ : -'
    when octet_length(payload::text) > 1048576 then 'payload must not be larger than 1 MiB'
    when dibs.is_nested_deeper(payload, 1000) then 'payload must not be nested deeper than 1000 levels'
    when json_typeof(headers) <> 'object' then 'headers must be an object'
    when priority not between -100 and 100 then 'priority must be from -100 to 100'
    when delay_seconds is not null and run_at is not null then 'run_at must not be given together with delay_seconds'
    when delay_seconds not between 0 and longest then 'delay_seconds must be from 0 to 31622400'
    when run_at > clock_timestamp() + interval '366 days' then 'run_at must be within 366 days from now'
    when max_attempts not between 1 and 1000 then 'max_attempts must be from 1 to 1000'
    when char_length(unique_key) not between 1 and 256 then 'unique_key must have 1 to 256 characters'
    when unique_for_seconds is not null and unique_key is null then 'unique_for_seconds needs a unique_key'
    when on_duplicate is not null and unique_key is null then 'on_duplicate needs a unique_key'
    when on_duplicate not in ('keep', 'replace') then 'on_duplicate must be keep or replace'
    when unique_until is not null and unique_key is null then 'unique_until needs a unique_key'
    when unique_until not in ('finished', 'claimed') then 'unique_until must be finished or claimed'
    when unique_for_seconds not between 0 and longest then 'unique_for_seconds must be from 0 to 31622400'
    when char_length("group") not between 1 and 256 then 'group must have 1 to 256 characters'
    when char_length(fairness_key) not between 1 and 256 then 'fairness_key must have 1 to 256 characters'
    when expires_in_seconds <= 0 or expires_in_seconds > longest
      then 'expires_in_seconds must be more than 0, and up to 31622400'
  end;
  if problem is null and headers::text <> '{}' then
    begin
      problem := (
        select case
          when count(*) > 32 then 'headers must have at most 32 members'
          when bool_or(json_typeof(header.value) <> 'string') then 'headers must be strings'
          when bool_or(char_length(header.key) > 128) then 'names of headers must have at most 128 characters'
          when bool_or(char_length(header.value #>> '{}') > 1024) then 'headers must have at most 1024 characters each'
        end
        from json_each(headers) as header
      );
    exception when data_exception then
      problem := 'headers must not contain NUL or half of a surrogate pair';
    end;
  end if;
  if problem is not null then
    raise invalid_parameter_value using message = problem;
  end if;
  backoff := dibs.complete_backoff(backoff);

  loop
    select * into found_queue from dibs.queues q where q.name = queue;
    if found then
      if found_queue.max_ready is not null
        and dibs.capacity(found_queue.id) = 0
        and not (unique_key is not null and dibs.is_key_held(found_queue.id, unique_key))
      then
        raise configuration_limit_exceeded using message = format('queue %s is full: this job would exceed its max_ready', queue);
      end if;
      id := dibs.new_id(found_queue.id);
      job := dibs.put_in(
        found_queue,
        row(
          id, coalesce(delay_seconds, 0), run_at, priority, coalesce(max_attempts, found_queue.max_attempts),
          backoff, headers, payload,
          unique_key, unique_for_seconds, "group", fairness_key,
          expires_in_seconds, null
        )::dibs.new_job,
        coalesce(on_duplicate = 'replace', false),
        frees => coalesce(unique_until = 'claimed', false)
      );
      exit when job.id is not null;
    end if;
    -- Only home knows where a queue lives.
    if exists (select from dibs.this_database d where d.name <> 'home') then
      raise exception using
        errcode = 'DB003',
        message = format(
          'Queue %s is not in this database, %s. Dibs tells where it is, and makes a new one',
          queue, (select d.name from dibs.this_database d)
        ),
        hint = format('In the database home: select database from dibs.placements where name = %L', queue);
    end if;
    -- First look for the queue: an insert that conflicts would use up one of the 16 million ids.
    insert into dibs.queues (name) values (queue) on conflict (name) do nothing;
  end loop;

  return job.id;
end;
$function$;

revoke all on function dibs.enqueue from public;
