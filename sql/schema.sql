-- Generated from sql/migrations by "npm run generate", for review: what the migrations amount to, all in one
-- place. It is never run.

-- types

create type dibs.job_state as enum ('scheduled', 'ready', 'blocked', 'leased', 'completed', 'cancelled', 'dead');

-- composite types

create type dibs.kept_job as (
  id uuid,
  queue text,
  state dibs.job_state,
  priority smallint,
  attempt integer,
  max_attempts integer,
  deliveries integer,
  "group" text,
  fairness_key text,
  unique_key text,
  run_at timestamp with time zone,
  created_at timestamp with time zone,
  headers text,
  lease_expires_at timestamp with time zone,
  finished_at timestamp with time zone,
  worker text,
  last_error text,
  progress text,
  result text,
  payload text,
  deduplicated boolean
);

create type dibs.new_job as (
  id uuid,
  delay_seconds double precision,
  run_at timestamp with time zone,
  priority smallint,
  max_attempts integer,
  backoff text,
  headers text,
  payload text,
  unique_key text,
  unique_for_seconds double precision,
  group_key text,
  fairness_key text,
  expires_in_seconds double precision,
  awaited_seconds double precision
);

-- sequences

create sequence dibs.audit_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence dibs.history_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence dibs.positions as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence dibs.queue_ids as bigint start 1 increment 1 minvalue 1 maxvalue 16777215 cache 1;

create sequence dibs.relay_place_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- functions

CREATE OR REPLACE FUNCTION dibs.adopt(ids integer[], names text[], place text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  adopted text;
begin
  for adopted in
    insert into dibs.placements (queue_id, name, database)
    select asked.id, asked.name, place
    from unnest(ids, names) as asked (id, name)
    order by asked.name
    on conflict do nothing
    returning name
  loop
    perform pg_notify('dibs', 'placed sql ' || adopted);
  end loop;
  perform nextval('dibs.queue_ids')
  from dibs.queue_ids as given
  cross join generate_series(given.last_value + given.is_called::integer, (select max(id) from unnest(ids) as asked (id)));
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.backoff_seconds(backoff json, attempt integer, jitter_share double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (LEAST(((backoff ->> 'max_seconds'::text))::double precision, (((backoff ->> 'base_seconds'::text))::double precision * CASE (backoff ->> 'kind'::text) WHEN 'exponential'::text THEN power((2)::double precision, (LEAST((GREATEST(attempt, 1) - 1), 60))::double precision) WHEN 'linear'::text THEN (GREATEST(attempt, 1))::double precision ELSE (1)::double precision END)) * ((1)::double precision - (((backoff ->> 'jitter'::text))::double precision * jitter_share)));

CREATE OR REPLACE FUNCTION dibs.by_index(condition boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE COST 1e+12
AS $function$begin return condition; end$function$;

CREATE OR REPLACE FUNCTION dibs.cancel_batch(asked uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform from dibs.batches where id = asked for update;
  if not found then
    raise exception using errcode = 'DB004', message = asked;
  end if;
  update dibs.batches
  set closed_at = coalesce(closed_at, now()), cancelled_at = coalesce(cancelled_at, now())
  where id = asked;
  delete from dibs.batch_followers where batch_id = asked or joins = asked;
  perform dibs.end_batch(asked);
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.capacity(queue_id integer)
 RETURNS integer
 LANGUAGE sql
 STABLE
AS $function$
select greatest(0, q.max_ready - ready.n - with_key.n - blocked.n)
from dibs.queues q
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs j
    where j.queue_id = capacity.queue_id
      and j.state = 'ready'
      and j.fairness_key is null
      and j.position between (select 0) and (select 9223372036854775807)
    limit q.max_ready
  ) as found
) as ready
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs j
    where j.queue_id = capacity.queue_id and j.state = 'ready' and j.fairness_key is not null
    order by j.queue_id, -j.priority, j.fairness_key, j.position
    limit q.max_ready
  ) as found
) as with_key
cross join lateral (
  select count(*)::integer as n
  from (
    select
    from dibs.jobs j
    where j.queue_id = capacity.queue_id and j.state = 'blocked'
    order by j.queue_id, j.state, j.id
    limit q.max_ready
  ) as found
) as blocked
where q.id = capacity.queue_id and q.max_ready is not null;
$function$;

CREATE OR REPLACE FUNCTION dibs.close_batch(asked uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  closed timestamptz;
begin
  select closed_at into closed from dibs.batches where id = asked for update;
  if not found then
    raise exception using errcode = 'DB004', message = asked;
  elsif closed is not null then
    raise exception using errcode = 'DB005', message = asked;
  end if;
  update dibs.batches set closed_at = now() where id = asked;
  perform dibs.end_batch(asked);
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.complete_backoff(asked json)
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  longest constant numeric :=
    366 * 86400
  ;
  problem text;
  member record;
  whole jsonb := '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}';
begin
  if asked is null then
    return null;
  end if;
  begin
    if json_typeof(asked) <> 'object' then
      raise invalid_parameter_value using message = 'backoff must be an object';
    end if;
    for member in select key, value, json_typeof(value) as type from json_each(asked) loop
      problem := case member.key
        when 'kind' then case
          when member.type <> 'string' or member.value #>> '{}' not in ('exponential', 'linear', 'constant')
            then 'backoff: kind must be exponential, linear or constant' end
        when 'jitter' then case
          when member.type <> 'number' or (member.value #>> '{}')::numeric not between 0 and 1
            then 'backoff: jitter must be from 0 to 1' end
        when 'base_seconds' then case
          when member.type <> 'number' or (member.value #>> '{}')::numeric not between 0 and longest
            then 'backoff: base_seconds must be from 0 to 31622400' end
        when 'max_seconds' then case
          when member.type <> 'number' or (member.value #>> '{}')::numeric not between 0 and longest
            then 'backoff: max_seconds must be from 0 to 31622400' end
        else format('backoff: %I is not a known field', member.key)
      end;
      if problem is not null then
        raise invalid_parameter_value using message = problem;
      end if;
      whole := whole || jsonb_build_object(member.key, case member.type
        when 'string' then to_jsonb(member.value #>> '{}')
        else to_jsonb(trim_scale(round((member.value #>> '{}')::numeric, 6)))
      end);
    end loop;
    return whole::json;
  exception
    when invalid_parameter_value then
      raise;
    -- A number beyond numeric, a NUL or half of a surrogate pair.
    when data_exception then
      raise invalid_parameter_value using message = 'backoff: ' || sqlerrm;
  end;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.count_batch_end(batch uuid, state dibs.job_state, change integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  noted text := coalesce(current_setting('dibs.batches', true), '');
  is_noted boolean := strpos(noted, batch::text) > 0;
begin
  if not is_noted then
    perform set_config('dibs.batches', noted || batch, true);
  end if;
  insert into dibs.batch_ends (batch_id, state, change, looks)
  values (batch, state, change, noted = '');
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.count_placement()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into dibs.placement_changes (database, change)
  select changed.database, changed.change
  from (values (case when tg_op <> 'INSERT' then old.database end, -1), (case when tg_op <> 'DELETE' then new.database end, 1))
    as changed (database, change)
  where changed.database is not null;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.count_placements()
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  with noted as (
    delete from dibs.placement_changes returning database, change
  )
  update dibs.databases d
  set queues = d.queues + sums.change
  from (select database, sum(change) as change from noted group by database) as sums
  where d.name = sums.database;
$function$;

CREATE OR REPLACE FUNCTION dibs.dead_letter()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  own dibs.queues;
  dead_letters dibs.queues;
  letter dibs.jobs;
begin
  select * into own from dibs.queues q where q.id = new.queue_id;
  if own.dead_letter_queue is null then
    return null;
  end if;
  select * into dead_letters from dibs.queues q where q.name = own.dead_letter_queue;
  if not found then
    return null;
  end if;
  letter := dibs.put_in(
    dead_letters,
    row(
      dibs.new_id(dead_letters.id), 0, null, new.priority, new.max_attempts,
      new.backoff,
      dibs.dead_letter_headers(new.headers, own.name, new.last_error),
      new.payload,
      null, null, new.group_key, new.fairness_key,
      null, null
    )::dibs.new_job
  );
  if letter.id is null then
    return null;
  end if;

  -- A duplicate is told how the job ended, also when its row is gone.
  if new.unique_key is not null then
    update dibs.unique_windows
    set ended_as = 'dead'
    where queue_id = new.queue_id and unique_key = new.unique_key and job_id = new.id;
  end if;
  if own.retention_seconds > 0 or new.awaited_until > now() then
    update dibs.jobs
    set state = 'cancelled', moved_to = letter.id, lease_token = null
    where queue_id = new.queue_id and id = new.id;
  else
    perform set_config('dibs.no_ack', 'dead', true);
    delete from dibs.jobs where queue_id = new.queue_id and id = new.id;
    perform set_config('dibs.no_ack', '', true);
  end if;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.dead_letter_header(headers json, name text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
begin
  return headers ->> name;
exception when data_exception then
  return (
    select h.value
    from dibs.text_headers(headers) as h
    where h.name = dead_letter_header.name
    order by h.place desc
    limit 1
  );
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.dead_letter_headers(headers json, queue text, error text)
 RETURNS json
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
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

CREATE OR REPLACE FUNCTION dibs.end_batch(asked uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  near_end constant integer := 128;
  batch dibs.batches;
  is_unfinished boolean;
  follower dibs.batch_followers;
begin
  perform from dibs.batches where id = asked and closed_at is not null and not succeeded;
  if not found or dibs.unfinished_in_batch(asked, near_end + 1) > near_end then
    return;
  end if;
  select * into batch from dibs.batches where id = asked for no key update;
  if not found or batch.succeeded or dibs.unfinished_in_batch(asked, 1) > 0 then
    return;
  end if;
  -- One statement, so all is of one moment: a dead job that comes back is counted as dead or as unfinished.
  select
    dibs.unfinished_in_batch(asked, 1) > 0 or exists (select from dibs.batch_followers where joins = asked),
    batch.cancelled + coalesce(sum(change) filter (where state = 'cancelled'), 0),
    batch.dead + coalesce(sum(change) filter (where state = 'dead'), 0)
  into is_unfinished, batch.cancelled, batch.dead
  from dibs.batch_ends
  where batch_id = asked;
  if is_unfinished then
    return;
  end if;
  batch.succeeded := batch.cancelled + batch.dead = 0;
  update dibs.batches
  set finished_at = coalesce(finished_at, now()), ended_at = now(), succeeded = batch.succeeded
  where id = asked;

  for follower in
    select * from dibs.batch_followers where batch_id = asked order by on_success
  loop
    if not follower.on_success or batch.succeeded then
      perform dibs.enqueue_follower(follower);
    elsif batch.cancelled > 0 then
      delete from dibs.batch_followers where batch_id = asked and on_success;
    end if;
  end loop;
  perform pg_notify('dibs', 'done sql ' || asked);
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.enqueue(queue text, payload json DEFAULT 'null'::json, headers json DEFAULT '{}'::json, priority integer DEFAULT 0, delay_seconds double precision DEFAULT NULL::double precision, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, max_attempts integer DEFAULT NULL::integer, backoff json DEFAULT NULL::json, unique_key text DEFAULT NULL::text, unique_for_seconds double precision DEFAULT NULL::double precision, "group" text DEFAULT NULL::text, fairness_key text DEFAULT NULL::text, expires_in_seconds double precision DEFAULT NULL::double precision, on_duplicate text DEFAULT NULL::text, unique_until text DEFAULT NULL::text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_variable
declare
  longest constant double precision :=
    366 * 86400
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

CREATE OR REPLACE FUNCTION dibs.enqueue_follower(follower dibs.batch_followers)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  waits constant text := current_setting('lock_timeout');
  found_queue dibs.queues;
  job dibs.jobs;
begin
  perform set_config('lock_timeout', '50ms', true);
  loop
    select * into found_queue from dibs.queues q where q.name = follower.queue;
    if found then
      job := dibs.put_in(
        found_queue,
        row(
          dibs.new_id(found_queue.id), follower.delay_seconds, follower.run_at, follower.priority,
          coalesce(follower.max_attempts, found_queue.max_attempts),
          follower.backoff,
          case
            when follower.headers::text = '{}' then json_build_object('dibs-batch', follower.batch_id)
            else (left(follower.headers::text, -1) || ',"dibs-batch":"' || follower.batch_id || '"}')::json
          end
          ,
          follower.payload,
          follower.unique_key, follower.unique_for_seconds, follower.group_key, follower.fairness_key,
          follower.expires_in_seconds, null
        )::dibs.new_job,
        follower.on_duplicate is not distinct from 'replace',
        follower.joins,
        follower.unique_until is not distinct from 'claimed'
      );
      exit when job.id is not null;
    end if;
    insert into dibs.queues (name) values (follower.queue) on conflict (name) do nothing;
  end loop;
  -- A duplicate joins no batch.
  if job.batch_id is not distinct from follower.joins then
    perform set_config('dibs.follows', 'on', true);
  end if;
  delete from dibs.batch_followers where batch_id = follower.batch_id and on_success = follower.on_success;
  perform set_config('dibs.follows', '', true);
  perform set_config('lock_timeout', waits, true);
exception
  when others then
    update dibs.batch_followers
    set due_at = now() + interval '1 second'
    where batch_id = follower.batch_id and on_success = follower.on_success;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.hold_batches(asked uuid[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  batch uuid;
  closed timestamptz;
begin
  for batch in
    select distinct id from unnest(asked) as id where id is not null order by id
  loop
    select closed_at into closed from dibs.batches where id = batch for key share;
    if not found then
      raise exception using errcode = 'DB004', message = batch;
    elsif closed is not null then
      raise exception using errcode = 'DB005', message = batch;
    end if;
  end loop;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.insert_unique(queue integer, asked dibs.new_job[], replacing text[] DEFAULT '{}'::text[], batches jsonb DEFAULT NULL::jsonb, freeing text[] DEFAULT '{}'::text[])
 RETURNS SETOF dibs.jobs
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  job dibs.jobs;
  asking dibs.new_job;
  before dibs.job_state;
  due timestamptz;
  replaced uuid[];
  opened dibs.unique_windows;
  held text[];
  done uuid[];
  places bigint[];
  opening dibs.jobs[];
begin
  perform from dibs.queues where id = $1 for key share;
  if not found then
    return;
  end if;

  loop
    replaced := '{}';
    for asking in
      select * from unnest(asked) where unique_key = any (replacing)
    loop
      -- FOR UPDATE sees the holder as it is after the transactions that hold it.
      select * into job
      from dibs.jobs
      where queue_id = $1 and unique_key = asking.unique_key and state in ('scheduled', 'ready', 'blocked')
      for update;
      if not found then
        -- A claim may have freed the key. The window holds it all the same.
        select holder.* into job
        from dibs.unique_windows as opens
        join dibs.jobs as holder on holder.queue_id = $1 and holder.id = opens.job_id
        where opens.queue_id = $1 and opens.unique_key = asking.unique_key and opens.until > clock_timestamp()
          and holder.state in ('scheduled', 'ready', 'blocked')
        for update of holder;
      end if;
      continue when not found;
      before := job.state;
      due := coalesce(asking.run_at, now() + asking.delay_seconds * interval '1 second');
      job.state := case
        when due > now() then 'scheduled'
        when before <> 'scheduled' then before
        when
          (job.group_key is null or (job.is_head and job.head_place > 0 and job.is_paused is null))
          then 'ready'
        else 'blocked'
      end;
      update dibs.jobs
      set
        state = job.state,
        is_head = is_head and (head_place > 0 or job.state = 'scheduled'),
        position = case
          when is_head and head_place < 0 then position
          when job.state <> 'scheduled'
            and (before <> job.state or job.state = 'ready' and priority <> asking.priority)
            then nextval('dibs.positions')
          else position
        end,
        run_at = case when 'scheduled' in (before, job.state) then greatest(due, now()) else run_at end,
        priority = asking.priority,
        max_attempts = greatest(asking.max_attempts, attempt + 1),
        headers = asking.headers::json,
        payload = asking.payload::json,
        payload_bytes = octet_length(asking.payload),
        expires_at = now() + asking.expires_in_seconds * interval '1 second'
      where queue_id = $1 and id = job.id;
      replaced := replaced || job.id;
    end loop;

    held := '{}';
    for job in
      select holder.*
      from unnest(asked) as new
      cross join lateral (
        select *
        from dibs.jobs
        where queue_id = $1
          and unique_key = new.unique_key
          and state in ('scheduled', 'ready', 'blocked', 'leased')
        offset 0
      ) as holder
      -- One that waits again since is replaced by the next turn.
      where new.unique_key <> all (replacing) or holder.state = 'leased' or holder.id = any (replaced)
    loop
      return next job;
      held := held || job.unique_key;
    end loop;

    for opened in
      select holder.*
      from unnest(asked) as new
      cross join lateral (
        select *
        from dibs.unique_windows
        where queue_id = $1 and unique_key = new.unique_key and until > clock_timestamp()
        offset 0
      ) as holder
      where new.unique_key <> all (held)
    loop
      select * into job from dibs.jobs where queue_id = $1 and id = opened.job_id;
      -- One that waits again since is replaced by the next turn.
      continue when opened.unique_key = any (replacing)
        and job.state in ('scheduled', 'ready', 'blocked') and job.id <> all (replaced);
      if job.id is not null then
        -- A claim may have freed it. The window holds it all the same.
        job.unique_key := opened.unique_key;
        return next job;
      else
        job := json_populate_record(null::dibs.jobs, opened.job);
        job.headers := coalesce(opened.headers, job.headers);
        -- Read again: the job may have been deleted, and its end noted, since the window was read.
        job.state := coalesce(
          (
            select ended_as
            from dibs.unique_windows
            where queue_id = $1 and unique_key = opened.unique_key and job_id = opened.job_id
          ),
          'completed'
        );
        return next job;
      end if;
      held := held || opened.unique_key;
    end loop;

    done := array(select id from unnest(asked) where unique_key = any (held));
    if done = '{}' then
      places := array(select nextval('dibs.positions') from generate_series(1, cardinality(asked)));
      with queue as (
        select $1 as id
      ),
      new as (
        select
          new.*, places[rank() over (order by new.id)] as position,
          (batches ->> new.id::text)::uuid as batch_id, false as is_head,
          case when new.unique_key = any (freeing) then new.unique_key end as own_key
        from unnest(asked) as new
      )
      insert into dibs.jobs
        (queue_id, id, state, run_at, payload_bytes,
          priority, max_attempts, backoff, headers, payload, unique_key, group_key, fairness_key
          , expires_at, awaited_until, batch_id, own_key, is_head, position)
      select
        queue.id,
        new.id,
        case
          when new.is_head then 'ready'
          else
            (case
              when due.run_at > now() then 'scheduled'
              when new.group_key is not null then 'blocked'
              else 'ready'
            end)::dibs.job_state
        end,
        greatest(due.run_at, now()),
        octet_length(new.payload),
        new.priority, new.max_attempts, new.backoff::json, new.headers::json, new.payload::json, new.unique_key, new.group_key,
        new.fairness_key
        ,
        now() + new.expires_in_seconds * interval '1 second',
        now() + new.awaited_seconds * interval '1 second',
        new.batch_id,
        new.own_key,
        new.is_head,
        coalesce(new.position, nextval('dibs.positions'))
      from queue
      cross join new
      cross join lateral (
        select
          coalesce(new.run_at, now() + new.delay_seconds * interval '1 second') as run_at
      ) as due
      on conflict (queue_id, unique_key)
        where unique_key is not null and state in ('scheduled', 'ready', 'blocked', 'leased')
        do nothing;

      held := array(
        select unique_key
        from dibs.unique_windows
        where queue_id = $1
          and unique_key = any (array(select unique_key from unnest(asked)))
          and until > clock_timestamp()
      );
      if held <> '{}' then
        perform set_config('dibs.no_ack', 'undone', true);
        delete from dibs.jobs
        where queue_id = $1 and id = any (array(select id from unnest(asked))) and unique_key = any (held);
        perform set_config('dibs.no_ack', '', true);
      end if;

      opening := '{}';
      for job in
        select inserted.*
        from unnest(asked) as new
        cross join lateral (
          select * from dibs.jobs where queue_id = $1 and id = new.id offset 0
        ) as inserted
      loop
        return next job;
        done := done || job.id;
        job.payload := 'null';
        job.headers := '{}';
        opening := opening || job;
      end loop;

      insert into dibs.unique_windows (queue_id, unique_key, until, job_id, job, headers)
      select
        $1, new.unique_key, clock_timestamp() + new.unique_for_seconds * interval '1 second', new.id,
        to_json(inserted), new.headers::json
      from unnest(asked) as new
      join unnest(opening) as inserted on inserted.id = new.id
      where new.unique_for_seconds > 0
      on conflict (queue_id, unique_key) do update
      set
        until = excluded.until, job_id = excluded.job_id, job = excluded.job, headers = excluded.headers,
        ended_as = null;
    end if;

    exit when cardinality(done) = cardinality(asked);
    asked := array(select row(new.*)::dibs.new_job from unnest(asked) as new where id <> all (done));
  end loop;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.is_key_held(queue integer, asked text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
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

CREATE OR REPLACE FUNCTION dibs.is_nested_deeper(value json, levels integer)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
AS $function$
declare
  brackets text;
begin
  if octet_length(value::text) <= 2 * levels then
    return false;
  end if;
  brackets := (
    select string_agg(translate(part, E'{}0123456789+-.eEtrufalsn,: \t\r\n', '[]'), '')
    from unnest(string_to_array(replace(replace(value::text, E'\\\\', ''), E'\\"', ''), '"')) with ordinality as text (part, n)
    where n % 2 = 1
  );
  for level in 1 .. levels loop
    exit when brackets = '';
    brackets := replace(brackets, '[]', '');
  end loop;
  return brackets <> '';
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.is_queue_named(number integer, since timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
select
  exists (select from dibs.queues where id = number)
  or exists (select from dibs.placements where queue_id = number)
  or (select id from dibs.jobs where queue_id = number order by queue_id, id limit 1) is not null
  or exists (select from dibs.unique_windows where queue_id = number)
  or exists (select from dibs.history where expires_at <= since + interval '30 days 12 hours')
  or exists (select from dibs.idempotency_keys where expires_at <= since + interval '36 hours')
  or exists (select from dibs.samples where minute <= since + interval '1 day')
  or exists (select from dibs.operations where state = 'running' and (queue_id = number or to_id = number))
  or exists (select from dibs.totals where queue_id = number)
  or exists (select from dibs.claim_limits where queue_id = number)
  or exists (select from dibs.claim_log where queue_id = number)
  or exists (select from dibs.fair_marks where queue_id = number)
  or exists (select from dibs.scan_floors where queue_id = number);
$function$;

CREATE OR REPLACE FUNCTION dibs.look_at_batches()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  noted constant text := coalesce(current_setting('dibs.batches', true), '');
  batch uuid;
begin
  -- What the ends of these batches end is noted anew, and looked at after this.
  perform set_config('dibs.batches', '', true);
  for batch in
    select distinct substr(noted, i, 36)::uuid as id
    from generate_series(1, length(noted), 36) as i
    order by id
  loop
    perform dibs.end_batch(batch);
  end loop;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.new_id(queue integer)
 RETURNS uuid
 LANGUAGE sql
AS $function$
select (
  lpad(to_hex(clock.micros / 1000), 12, '0')
  || '7' || lpad(to_hex(clock.micros % 1000 * 4096 / 1000), 3, '0')
  || substr(random.digits, 17, 10)
  || lpad(to_hex($1), 6, '0')
)::uuid
from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros) as clock
cross join (select replace(gen_random_uuid()::text, '-', '') as digits) as random;
$function$;

CREATE OR REPLACE FUNCTION dibs.next_queue_id()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  number integer;
  since timestamptz;
  here constant text := (select d.name from dibs.this_database d);
begin
  -- Only home knows where a queue lives.
  if here <> 'home' then
    raise exception using
      errcode = 'DB003',
      message = format('The queue is not in this database, %s. Enqueue into the one where it lives, or have Dibs create it', here),
      hint = 'Ask Dibs for the queue: it tells the database. In the database home, dibs.placements has it';
  end if;
  -- Where home has forgotten numbers, adopt.sql gives some of them a place before the sequence has passed them.
  loop
    number := nextval('dibs.queue_ids');
    exit when not exists (select from dibs.placements p where p.queue_id = number);
  end loop;
  return number;
exception when sequence_generator_limit_exceeded then
  for number, since in
    select f.queue_id, f.since
    from dibs.free_queue_ids f
    where f.since <= now() -
      interval '31 days'
    order by f.since
    limit 100
  loop
    perform from dibs.free_queue_ids f where f.queue_id = number for update skip locked;
    continue when not found;
    if dibs.is_queue_named(number, since) then
      update dibs.free_queue_ids f set since = now() where f.queue_id = number;
    else
      delete from dibs.free_queue_ids f where f.queue_id = number;
      return number;
    end if;
  end loop;
  raise exception using errcode = 'DB002', message = 'there can be no more queues: all numbers are in use';
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.note_batch_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  no_ack constant text := coalesce(current_setting('dibs.no_ack', true), '');
  became dibs.job_state;
begin
  if tg_op = 'UPDATE' then
    if new.moved_to is not null then
      delete from dibs.batch_followers where batch_id = new.batch_id and on_success;
      return null;
    end if;
    became := new.state;
  elsif no_ack = 'undone' then
    -- The transaction that has inserted it takes it back.
    return null;
  elsif old.lease_token is not null and no_ack = '' then
    became := 'completed';
  elsif old.state = 'dead' and no_ack = 'dead' then
    delete from dibs.batch_followers where batch_id = old.batch_id and on_success;
    return null;
  else
    became := 'cancelled';
  end if;

  if became = old.state then
    return null;
  end if;
  if old.state in ('completed', 'cancelled', 'dead') then
    perform dibs.count_batch_end(old.batch_id, old.state, -1);
  end if;
  if became in ('completed', 'cancelled', 'dead') then
    perform dibs.count_batch_end(old.batch_id, became, 1);
  end if;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.note_history()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  what text;
  noted bigint;
  -- JSON: a name, or names by id. After a transaction that has set it, it is an empty text.
  actors text := nullif(current_setting('dibs.actor', true), '');
begin
  if current_setting('dibs.history', true) = 'off' then
    return null;
  end if;
  what := case
    when new.queue_id <> old.queue_id then 'moved'
    when new.state = 'leased' then 'cancel_requested'
    when new.state = 'cancelled' then 'cancelled'
    when old.state = 'leased' and new.lease_token is not null then 'rescued'
    when old.lease_token is not null and new.lease_token is null and new.attempt < old.attempt then 'released'
    when old.lease_token is not null and new.lease_token is null then 'nacked'
    when new.state = 'dead' then 'expired'
    else coalesce(nullif(current_setting('dibs.event', true), ''), 'retried')
  end;
  if what = 'moved' then
    update dibs.history set queue_id = new.queue_id, job_id = new.id where job_id = old.id;
  end if;
  insert into dibs.history (queue_id, job_id, event, state, attempt, deliveries, worker, error, run_at, leased_at, actor)
  values (
    new.queue_id,
    new.id,
    what,
    new.state,
    old.attempt,
    old.deliveries,
    case when old.state = 'leased' then old.worker end,
    case when what in ('nacked', 'rescued', 'expired') then left(new.last_error, 2000) end,
    case when new.state in ('scheduled', 'ready', 'blocked') then new.run_at end,
    -- A job that came back has a later run_at. So a lease that an older replica gave does not look as if it began with the one before.
    case when old.state = 'leased' and old.leased_at >= old.run_at then old.leased_at end,
    -- Dibs takes back leases by itself, and expires jobs.
    case
      when what in ('rescued', 'expired') then null
      when actors like '{%' then actors::json ->> old.id::text
      else actors::json #>> '{}'
    end
  )
  returning id into noted;
  if noted % 8 = 0 then
    delete from dibs.history
    where job_id = new.id
      and id <= (select id from dibs.history where job_id = new.id order by id desc offset 51 limit 1);
  end if;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.note_lost_follower()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if coalesce(current_setting('dibs.follows', true), '') = '' then
    perform dibs.count_batch_end(old.joins, 'cancelled', 1);
  end if;
  return null;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.place(names text[], wish text, away text[])
 RETURNS SETOF dibs.placements
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  asked text;
begin
  for asked in select new.name from unnest(names) as new (name) order by new.name loop
    continue when exists (select from dibs.placements p where p.name = asked);
    insert into dibs.placements (queue_id, name) values (dibs.next_queue_id(), asked) on conflict (name) do nothing;
  end loop;
  perform from dibs.databases d where d.name = 'home' for no key update;
  for asked in select p.name from dibs.placements p where p.name = any (names) and p.database is null order by p.queue_id loop
    perform dibs.count_placements();
    update dibs.placements p
    set database = coalesce(
      wish,
      coalesce(
        (
          select p.database
          from dibs.placements p
          join dibs.databases d on d.name = p.database
          where p.first_part = split_part(translate(asked, ':', '.'), '.', 1) and d.accepts_queues
          order by p.queue_id desc
          limit 1
        ),
        (
          select d.name
          from dibs.databases d
          where d.accepts_queues
          order by d.name = any (away), d.queues, d.created_at, d.name
          limit 1
        )
      )
      ,
      'home'
    )
    where p.name = asked;
  end loop;
  return query select * from dibs.placements p where p.name = any (names);
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.place_at_home()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  place dibs.placements;
begin
  if not exists (select from dibs.databases) or current_setting('dibs.arriving', true) = new.id::text then
    return new;
  end if;
  insert into dibs.placements (queue_id, name, database) values (new.id, new.name, 'home') on conflict (name) do nothing;
  select * into place from dibs.placements p where p.name = new.name;
  if place.database <> 'home' then
    raise exception using
      errcode = 'DB003', message = format('Queue %s lives in the database %s', new.name, place.database);
  end if;
  if place.moving_to is not null then
    raise exception using
      errcode = 'DB003',
      message = format('Queue %s is being relocated to the database %s. Try again later', new.name, place.moving_to);
  end if;
  new.id := place.queue_id;
  return new;
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.place_imported(numbers integer[], names text[])
 RETURNS SETOF dibs.placements
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into dibs.placements (queue_id, name)
  select coalesce(new.number, dibs.next_queue_id()), new.name
  from unnest(numbers, names) as new (number, name)
  where not exists (select from dibs.placements p where p.name = new.name)
  order by new.name
  on conflict (name) do nothing;
  return query select * from dibs.place(names, null, '{}');
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.put_in(queue dibs.queues, new dibs.new_job, replaces boolean DEFAULT false, batch uuid DEFAULT NULL::uuid, frees boolean DEFAULT false)
 RETURNS dibs.jobs
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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

CREATE OR REPLACE FUNCTION dibs.refuse_claim()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = 'DB001', message = 'another request holds this claim';
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.refuse_key()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using
    errcode = 'unique_violation', constraint = 'jobs_unique', message = 'an open window holds a unique key';
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.refuse_session()
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = 'DB006', message = 'the session has ended';
end;
$function$;

CREATE OR REPLACE FUNCTION dibs.regain_keys(behind_queue integer, behind_id uuid, among uuid[] DEFAULT NULL::uuid[])
 RETURNS TABLE(queue_id integer, id uuid, unique_key text, ready_in text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
AS $function$
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

CREATE OR REPLACE FUNCTION dibs.text_headers(headers json)
 RETURNS TABLE(name text, value text, member text, place bigint)
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select found.parts[2], found.parts[3], found.parts[1], found.place
  from regexp_matches(headers::text, '("((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)")', 'g')
    with ordinality as found (parts, place);
$function$;

CREATE OR REPLACE FUNCTION dibs.unfinished_in_batch(batch uuid, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE
AS $function$
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

CREATE OR REPLACE FUNCTION dibs.unplace_at_home()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  delete from dibs.placements where queue_id = old.id and database = 'home' and moving_to is null;
  return null;
end;
$function$;

-- tables

create table dibs.access_keys (
  id uuid not null,
  name text not null,
  hash bytea not null,
  old_hash bytea,
  old_hash_expires_at timestamp with time zone,
  scopes text[] not null,
  queues text[] not null,
  is_from_file boolean not null default false,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint access_key_hashes CHECK (((octet_length(hash) = 32) AND (octet_length(old_hash) = 32))),
  constraint access_key_name CHECK ((name ~ '^[ -~]{1,128}$'::text)),
  constraint access_key_overlap CHECK (((old_hash IS NULL) = (old_hash_expires_at IS NULL))),
  constraint access_key_queues CHECK (((cardinality(queues) >= 1) AND (cardinality(queues) <= 64))),
  constraint access_key_scopes CHECK (((scopes <@ ARRAY['produce'::text, 'consume'::text, 'read'::text, 'admin'::text]) AND ((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 4)))),
  constraint access_keys_pkey PRIMARY KEY (id)
)
with (fillfactor=70);

create table dibs.access_state (
  is_only boolean not null default true,
  version uuid not null,
  has_had_keys boolean not null default false,
  constraint access_state_only CHECK (is_only),
  constraint access_state_pkey PRIMARY KEY (is_only)
);

create table dibs.arrival_marks (
  xid xid8 not null default pg_current_xact_id(),
  queue_id integer not null,
  first bigint not null,
  last bigint not null
)
with (vacuum_truncate=false);

create table dibs.audit (
  id bigint not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null default (now() + '90 days'::interval),
  actor text not null,
  actor_id text,
  verb text not null,
  queue text,
  job_id uuid,
  schedule text,
  key_id text,
  count bigint,
  outcome text not null,
  address text,
  request_id text,
  database text,
  details json not null default '{}'::json,
  constraint audit_pkey PRIMARY KEY (id)
);

create table dibs.batch_ends (
  batch_id uuid not null,
  state dibs.job_state not null,
  change smallint not null,
  looks boolean not null,
  constraint batch_ends_look TRIGGER DEFERRABLE INITIALLY DEFERRED
);

create table dibs.batch_followers (
  batch_id uuid not null,
  on_success boolean not null,
  queue text not null,
  delay_seconds double precision not null,
  run_at timestamp with time zone,
  priority smallint not null,
  max_attempts integer,
  backoff json,
  headers json not null,
  payload json not null,
  unique_key text,
  unique_for_seconds double precision,
  group_key text,
  fairness_key text,
  expires_in_seconds double precision,
  on_duplicate text,
  joins uuid,
  due_at timestamp with time zone,
  unique_until text,
  constraint batch_followers_batch FOREIGN KEY (batch_id) REFERENCES dibs.batches(id) ON DELETE CASCADE,
  constraint batch_followers_pkey PRIMARY KEY (batch_id, on_success)
);

create table dibs.batches (
  id uuid not null,
  queue_id integer not null,
  name text,
  created_at timestamp with time zone not null default now(),
  closed_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  finished_at timestamp with time zone,
  succeeded boolean not null default false,
  completed bigint not null default 0,
  cancelled bigint not null default 0,
  dead bigint not null default 0,
  ended_at timestamp with time zone,
  traceparent text,
  constraint batch_finished CHECK (((closed_at IS NOT NULL) OR (finished_at IS NULL))),
  constraint batch_name CHECK (((char_length(name) >= 1) AND (char_length(name) <= 256))),
  constraint batch_succeeded CHECK (((finished_at IS NOT NULL) OR (NOT succeeded))),
  constraint batches_pkey PRIMARY KEY (id),
  constraint batches_queue FOREIGN KEY (queue_id) REFERENCES dibs.queues(id) ON DELETE CASCADE
);

create table dibs.claim_limits (
  queue_id integer not null,
  counting_since timestamp with time zone not null,
  leases_from timestamp with time zone not null default '-infinity'::timestamp with time zone,
  claims_from timestamp with time zone not null default '-infinity'::timestamp with time zone,
  pruned_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint claim_limits_pkey PRIMARY KEY (queue_id)
);

create table dibs.claim_log (
  queue_id integer not null,
  until timestamp with time zone not null,
  jobs integer not null,
  constraint claim_log_pkey PRIMARY KEY (queue_id, until)
)
with (fillfactor=70, vacuum_truncate=false);

create table dibs.databases (
  name text not null,
  id uuid not null,
  accepts_queues boolean not null default true,
  queues integer not null default 0,
  created_at timestamp with time zone not null default now(),
  constraint databases_id UNIQUE (id),
  constraint databases_pkey PRIMARY KEY (name)
);

create table dibs.fair_marks (
  queue_id integer not null
)
with (vacuum_truncate=false);

create table dibs.free_queue_ids (
  queue_id integer not null,
  since timestamp with time zone not null default now(),
  constraint free_queue_ids_pkey PRIMARY KEY (queue_id)
);

create table dibs.functions (
  name text not null,
  checksum text not null,
  constraint functions_pkey PRIMARY KEY (name)
);

create table dibs.history (
  id bigint not null,
  queue_id integer not null,
  job_id uuid not null,
  at timestamp with time zone not null default clock_timestamp(),
  expires_at timestamp with time zone not null default (now() + '30 days'::interval),
  event text not null,
  state dibs.job_state not null,
  attempt integer not null,
  deliveries integer not null,
  worker text,
  error text,
  run_at timestamp with time zone,
  leased_at timestamp with time zone,
  actor text,
  constraint history_pkey PRIMARY KEY (id)
);

create table dibs.idempotency_keys (
  route text not null,
  key text not null,
  fingerprint bytea not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  status smallint default 503,
  location text,
  body text default '{"type":"urn:problem-type:dibs:unavailable","title":"The service is temporarily unavailable","status":503,"detail":"This replica runs an older Dibs than the one that took the request. Repeat it with the same key.","code":"unavailable","outcome":"unknown"}'::text,
  open_until timestamp with time zone,
  jobs dibs.kept_job[],
  replaced boolean[],
  batches uuid[],
  constraint idempotency_fingerprint CHECK ((octet_length(fingerprint) = 32)),
  constraint idempotency_key CHECK (((char_length(key) >= 1) AND (char_length(key) <= 256))),
  constraint idempotency_keys_pkey PRIMARY KEY (route, key)
);

create table dibs.jobs (
  queue_id integer not null,
  state dibs.job_state not null,
  id uuid not null,
  "position" bigint not null default nextval('dibs.positions'::regclass),
  run_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  lease_expires_at timestamp with time zone,
  finished_at timestamp with time zone,
  lease_token uuid,
  attempt integer not null default 0,
  max_attempts integer not null,
  deliveries integer not null default 0,
  payload_bytes integer not null,
  priority smallint not null,
  cancel_requested boolean not null default false,
  worker text,
  last_error text,
  backoff json,
  headers json not null,
  progress json,
  result json,
  payload json not null,
  unique_key text,
  group_key text,
  is_head boolean not null default false,
  fairness_key text,
  expires_at timestamp with time zone,
  awaited_until timestamp with time zone,
  counted boolean not null default false,
  enqueued json,
  claim_id text,
  claim_holder uuid,
  leased_at timestamp with time zone,
  lease_seconds double precision,
  moved_to uuid,
  is_paused boolean,
  batch_id uuid,
  own_key text,
  head_place smallint not null default 1,
  session_id uuid,
  constraint job_state CHECK ((((state = 'leased'::dibs.job_state) = (lease_expires_at IS NOT NULL)) AND ((state >= 'completed'::dibs.job_state) = (finished_at IS NOT NULL)))) NOT VALID,
  constraint jobs_pkey PRIMARY KEY (queue_id, id)
)
with (vacuum_truncate=false, autovacuum_vacuum_scale_factor=0.05, autovacuum_analyze_scale_factor=0.05);

create table dibs.migrations (
  version integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now(),
  oldest integer,
  constraint migrations_pkey PRIMARY KEY (version)
);

create table dibs.operation_leases (
  operation_id uuid not null,
  job_id uuid not null,
  lease_token uuid not null,
  constraint operation_leases_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES dibs.operations(id) ON DELETE CASCADE,
  constraint operation_leases_pkey PRIMARY KEY (operation_id, job_id)
);

create table dibs.operations (
  id uuid not null,
  verb text not null,
  queue_id integer not null,
  queue text not null,
  to_id integer,
  to_queue text,
  states text[] not null,
  group_key text,
  fairness_key text,
  worker text,
  error_contains text,
  created_after timestamp with time zone,
  created_before timestamp with time zone,
  dry_run boolean not null,
  state text not null default 'running'::text,
  error text,
  last_position bigint not null,
  open_transactions text[] not null,
  next_transaction bigint not null,
  counted boolean not null default false,
  step smallint not null default 0,
  after_id uuid not null default '00000000-0000-0000-0000-000000000000'::uuid,
  matched bigint not null default 0,
  done bigint not null default 0,
  skipped bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  worked_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  actor text,
  constraint operation_finished CHECK (((state = 'running'::text) = (finished_at IS NULL))),
  constraint operation_state CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'cancelled'::text, 'failed'::text]))),
  constraint operation_target CHECK ((((verb = 'move'::text) = (to_id IS NOT NULL)) AND ((to_id IS NULL) = (to_queue IS NULL)))),
  constraint operation_verb CHECK ((verb = ANY (ARRAY['cancel'::text, 'retry'::text, 'delete'::text, 'move'::text]))),
  constraint operations_pkey PRIMARY KEY (id)
)
with (fillfactor=50, vacuum_truncate=false);

create table dibs.placement_changes (
  database text not null,
  change smallint not null
)
with (vacuum_truncate=false);

create table dibs.placements (
  queue_id integer not null,
  name text not null,
  first_part text not null default split_part(translate(name, ':'::text, '.'::text), '.'::text, 1),
  database text,
  moving_to text,
  constraint placements_database FOREIGN KEY (database) REFERENCES dibs.databases(name),
  constraint placements_name UNIQUE (name),
  constraint placements_pkey PRIMARY KEY (queue_id)
);

create table dibs.queues (
  id integer not null default dibs.next_queue_id(),
  name text not null,
  paused boolean not null default false,
  lease_seconds double precision not null default 30,
  max_attempts integer not null default 5,
  backoff json not null default '{"kind":"exponential","base_seconds":1,"max_seconds":3600,"jitter":0.2}'::json,
  retention_seconds double precision not null default 0,
  dead_retention_seconds double precision not null default 1209600,
  created_at timestamp with time zone not null default now(),
  max_leased integer,
  rate_jobs integer,
  rate_seconds double precision,
  max_ready integer,
  fair boolean not null default false,
  alert_after_seconds double precision not null default 300,
  dead_letter_queue text,
  paused_groups text[] not null default '{}'::text[],
  group_concurrency smallint not null default 1,
  is_narrowing boolean not null default false,
  is_importing boolean not null default false,
  group_batches smallint not null default 1,
  constraint queue_alert_after CHECK (((alert_after_seconds >= (1)::double precision) AND (alert_after_seconds <= (31622400)::double precision))),
  constraint queue_attempts CHECK (((max_attempts >= 1) AND (max_attempts <= 1000))),
  constraint queue_dead_letter CHECK (((dead_letter_queue ~ '^[A-Za-z0-9._:-]{1,128}$'::text) AND (dead_letter_queue <> name))),
  constraint queue_dead_retention CHECK (((dead_retention_seconds >= (0)::double precision) AND (dead_retention_seconds <= (31622400)::double precision))),
  constraint queue_group_batches CHECK (((group_batches >= 1) AND (group_batches <= 1000))),
  constraint queue_group_concurrency CHECK (((group_concurrency >= 1) AND (group_concurrency <= 1000))),
  constraint queue_lease CHECK (((lease_seconds >= (0.1)::double precision) AND (lease_seconds <= (43200)::double precision))),
  constraint queue_limits CHECK ((((max_leased >= 1) AND (max_leased <= 100000)) AND ((rate_jobs >= 1) AND (rate_jobs <= 1000000000)) AND ((rate_seconds >= (0.1)::double precision) AND (rate_seconds <= (31622400)::double precision)) AND ((rate_jobs IS NULL) = (rate_seconds IS NULL)) AND ((max_ready >= 1) AND (max_ready <= 1000000)))),
  constraint queue_name CHECK ((name ~ '^[A-Za-z0-9._:-]{1,128}$'::text)),
  constraint queue_paused_groups CHECK ((cardinality(paused_groups) <= 1000)),
  constraint queue_retention CHECK (((retention_seconds >= (0)::double precision) AND (retention_seconds <= (31622400)::double precision))),
  constraint queues_name_key UNIQUE (name),
  constraint queues_pkey PRIMARY KEY (id)
);

create table dibs.relay (
  place bigint not null,
  id uuid not null,
  queue_id integer not null,
  queue text not null,
  job dibs.new_job,
  moved text,
  bytes integer not null,
  created_at timestamp with time zone not null default now(),
  awaited_until timestamp with time zone,
  on_duplicate text,
  unique_until text,
  constraint relay_id UNIQUE (id),
  constraint relay_one CHECK (((job IS NULL) <> (moved IS NULL))),
  constraint relay_pkey PRIMARY KEY (place)
);

create table dibs.relay_arrivals (
  queue_id integer not null,
  source text not null,
  number bigint not null,
  constraint relay_arrivals_pkey PRIMARY KEY (queue_id, source),
  constraint relay_arrivals_queue FOREIGN KEY (queue_id) REFERENCES dibs.queues(id) ON DELETE CASCADE
);

create table dibs.relay_parcels (
  queue_id integer not null,
  number bigint not null,
  places bigint[] not null,
  constraint relay_parcels_pkey PRIMARY KEY (queue_id)
);

create table dibs.relocating_jobs (
  queue_id integer not null,
  state dibs.job_state not null,
  id uuid not null,
  "position" bigint not null,
  run_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  lease_expires_at timestamp with time zone,
  finished_at timestamp with time zone,
  lease_token uuid,
  attempt integer not null,
  max_attempts integer not null,
  deliveries integer not null,
  payload_bytes integer not null,
  priority smallint not null,
  cancel_requested boolean not null,
  worker text,
  last_error text,
  backoff json,
  headers json not null,
  progress json,
  result json,
  payload json not null,
  unique_key text,
  group_key text,
  is_head boolean not null,
  fairness_key text,
  expires_at timestamp with time zone,
  awaited_until timestamp with time zone,
  counted boolean not null,
  enqueued json,
  claim_id text,
  claim_holder uuid,
  leased_at timestamp with time zone,
  lease_seconds double precision,
  moved_to uuid,
  is_paused boolean,
  batch_id uuid,
  own_key text,
  head_place smallint not null default 1,
  session_id uuid,
  constraint relocating_jobs_pkey PRIMARY KEY (queue_id, id)
)
with (vacuum_truncate=false);

create table dibs.relocating_queues (
  queue_id integer not null,
  relocation uuid not null,
  role text not null,
  attempt integer not null default 0,
  queue json,
  arrivals json,
  other text,
  constraint relocating_queues_pkey PRIMARY KEY (queue_id),
  constraint relocating_role CHECK ((role = ANY (ARRAY['leaving'::text, 'returning'::text, 'arrived'::text, 'refused'::text])))
);

create table dibs.relocations (
  id uuid not null,
  queue_id integer not null,
  queue text not null,
  source text not null,
  target text not null,
  dry_run boolean not null,
  state text not null default 'running'::text,
  phase text not null default 'counting'::text,
  attempt integer not null default 0,
  is_stopped boolean not null default false,
  error text,
  matched bigint not null default 0,
  done bigint not null default 0,
  hold_seconds double precision,
  created_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  actor text,
  worked_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint relocation_finished CHECK (((state = 'running'::text) = (finished_at IS NULL))),
  constraint relocation_phase CHECK ((phase = ANY (ARRAY['counting'::text, 'leaving'::text, 'arriving'::text, 'cleaning'::text, 'returning'::text, 'ended'::text]))),
  constraint relocation_state CHECK ((state = ANY (ARRAY['running'::text, 'done'::text, 'cancelled'::text, 'failed'::text]))),
  constraint relocations_pkey PRIMARY KEY (id)
);

create table dibs.repeatable_claims (
  mark uuid not null,
  holder uuid not null,
  answerers uuid[],
  waits boolean not null default false,
  looking_until timestamp with time zone,
  until timestamp with time zone not null,
  constraint repeatable_claims_pkey PRIMARY KEY (mark)
)
with (vacuum_truncate=false);

create table dibs.samples (
  minute timestamp with time zone not null,
  queue_id integer not null,
  ready bigint,
  waiting bigint,
  leased bigint,
  dead bigint,
  oldest_ready_seconds double precision,
  enqueued bigint,
  acked bigint,
  failed bigint,
  died bigint,
  constraint samples_pkey PRIMARY KEY (minute, queue_id)
);

create table dibs.scan_floors (
  queue_id integer not null,
  rank smallint not null,
  "position" bigint not null,
  fair_position bigint not null default '-1'::integer,
  constraint scan_floors_pkey PRIMARY KEY (queue_id, rank),
  constraint scan_floors_queue_id_fkey FOREIGN KEY (queue_id) REFERENCES dibs.queues(id) ON DELETE CASCADE
)
with (vacuum_truncate=false);

create table dibs.schedules (
  name text not null,
  cron text not null,
  timezone text not null,
  paused boolean not null,
  job json not null,
  payload json,
  next_run_at timestamp with time zone,
  last_run_at timestamp with time zone,
  revision uuid not null,
  refusals integer not null default 0,
  last_error text,
  retry_at timestamp with time zone,
  constraint schedule_name CHECK ((name ~ '^[A-Za-z0-9._:-]{1,128}$'::text)),
  constraint schedule_paused CHECK (((NOT paused) OR (next_run_at IS NULL))),
  constraint schedule_refused CHECK ((((refusals = 0) = (last_error IS NULL)) AND ((refusals = 0) = (retry_at IS NULL)))),
  constraint schedules_pkey PRIMARY KEY (name)
);

create table dibs.session_replicas (
  id uuid not null,
  alive_until timestamp with time zone not null,
  constraint session_replicas_pkey PRIMARY KEY (id)
);

create table dibs.sessions (
  id uuid not null,
  resume_seconds double precision not null,
  owner text,
  connection uuid not null,
  replica uuid,
  ends_at timestamp with time zone,
  ended boolean not null default false,
  is_guest boolean not null default false,
  constraint session_ended CHECK (((NOT ended) OR (replica IS NULL))),
  constraint session_held CHECK (
CASE
    WHEN is_guest THEN ((replica IS NULL) AND (ends_at IS NULL))
    ELSE ((replica IS NULL) = (ends_at IS NOT NULL))
END),
  constraint session_resume CHECK (((resume_seconds >= (0)::double precision) AND (resume_seconds <= (60)::double precision))),
  constraint sessions_pkey PRIMARY KEY (id)
);

create table dibs.this_database (
  is_only boolean not null default true,
  id uuid not null default gen_random_uuid(),
  name text,
  home uuid,
  constraint this_database_is_only CHECK (is_only),
  constraint this_database_pkey PRIMARY KEY (is_only)
);

create table dibs.totals (
  queue_id integer not null,
  enqueued bigint not null default 0,
  deduplicated bigint not null default 0,
  claimed bigint not null default 0,
  acked bigint not null default 0,
  nacked bigint not null default 0,
  released bigint not null default 0,
  rescued bigint not null default 0,
  expired bigint not null default 0,
  dead bigint not null default 0,
  constraint totals_pkey PRIMARY KEY (queue_id)
)
with (fillfactor=20, vacuum_truncate=false);

create table dibs.unique_windows (
  queue_id integer not null,
  unique_key text not null,
  until timestamp with time zone not null,
  job_id uuid not null,
  job json not null,
  ended_as dibs.job_state,
  headers json,
  constraint unique_windows_pkey PRIMARY KEY (queue_id, unique_key)
);

-- indexes

CREATE UNIQUE INDEX access_keys_name ON dibs.access_keys USING btree (name) WHERE (revoked_at IS NULL);

CREATE INDEX access_keys_over ON dibs.access_keys USING btree (LEAST(revoked_at, expires_at));

CREATE INDEX arrival_marks_xid ON dibs.arrival_marks USING btree (xid);

CREATE INDEX audit_actor ON dibs.audit USING btree (actor, id);

CREATE INDEX audit_created ON dibs.audit USING btree (created_at);

CREATE INDEX audit_expiry ON dibs.audit USING btree (expires_at);

CREATE INDEX audit_queue ON dibs.audit USING btree (queue, id) WHERE (queue IS NOT NULL);

CREATE INDEX audit_verb ON dibs.audit USING btree (verb, id);

CREATE INDEX batch_ends_batch ON dibs.batch_ends USING btree (batch_id);

CREATE INDEX batch_followers_due ON dibs.batch_followers USING btree (due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX batch_followers_joins ON dibs.batch_followers USING btree (joins) WHERE (joins IS NOT NULL);

CREATE INDEX batches_cancelled ON dibs.batches USING btree (cancelled_at) WHERE ((cancelled_at IS NOT NULL) AND (finished_at IS NULL));

CREATE INDEX batches_finished ON dibs.batches USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX batches_queue ON dibs.batches USING btree (queue_id, id);

CREATE INDEX batches_unfinished ON dibs.batches USING btree (closed_at) WHERE (finished_at IS NULL);

CREATE INDEX fair_marks_queue ON dibs.fair_marks USING btree (queue_id);

CREATE INDEX free_queue_ids_since ON dibs.free_queue_ids USING btree (since);

CREATE INDEX history_expiry ON dibs.history USING btree (expires_at);

CREATE INDEX history_job ON dibs.history USING btree (job_id, id);

CREATE INDEX idempotency_keys_expiry ON dibs.idempotency_keys USING btree (expires_at);

CREATE INDEX jobs_batch ON dibs.jobs USING btree (batch_id, state, id) WHERE (batch_id IS NOT NULL);

CREATE INDEX jobs_blocked ON dibs.jobs USING btree (queue_id, group_key, "position") WHERE ((group_key IS NOT NULL) AND dibs.by_index((state = 'blocked'::dibs.job_state)));

CREATE INDEX jobs_by_state ON dibs.jobs USING btree (queue_id, state, id) WHERE (state = ANY (ARRAY['scheduled'::dibs.job_state, 'blocked'::dibs.job_state, 'completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state]));

CREATE INDEX jobs_claim_holder ON dibs.jobs USING btree (claim_holder) WHERE ((claim_holder IS NOT NULL) AND dibs.by_index((state = 'leased'::dibs.job_state)));

CREATE INDEX jobs_counted ON dibs.jobs USING btree (queue_id, lease_expires_at) WHERE ((state = 'leased'::dibs.job_state) AND counted);

CREATE INDEX jobs_expiring ON dibs.jobs USING btree (expires_at, queue_id) WHERE ((expires_at IS NOT NULL) AND (state = ANY (ARRAY['scheduled'::dibs.job_state, 'ready'::dibs.job_state, 'blocked'::dibs.job_state])));

CREATE INDEX jobs_fair ON dibs.jobs USING btree (queue_id, ((- priority)), fairness_key, "position") WHERE ((state = 'ready'::dibs.job_state) AND (fairness_key IS NOT NULL));

CREATE INDEX jobs_fair_arrival ON dibs.jobs USING btree (queue_id, ((- priority)), "position") WHERE ((fairness_key IS NOT NULL) AND dibs.by_index((state = 'ready'::dibs.job_state)));

CREATE INDEX jobs_finished ON dibs.jobs USING btree (queue_id, state, finished_at, id) WHERE (state = ANY (ARRAY['completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state]));

CREATE INDEX jobs_group_key ON dibs.jobs USING btree (queue_id, group_key, id) WHERE (group_key IS NOT NULL);

CREATE UNIQUE INDEX jobs_head ON dibs.jobs USING btree (queue_id, group_key, head_place) WHERE ((group_key IS NOT NULL) AND dibs.by_index(is_head));

CREATE INDEX jobs_keyless ON dibs.jobs USING btree (queue_id, id) WHERE ((own_key IS NOT NULL) AND dibs.by_index(((unique_key IS NULL) AND (state = ANY (ARRAY['scheduled'::dibs.job_state, 'ready'::dibs.job_state, 'blocked'::dibs.job_state])))));

CREATE INDEX jobs_leased ON dibs.jobs USING btree (lease_expires_at, queue_id) WHERE (state = 'leased'::dibs.job_state);

CREATE INDEX jobs_ready ON dibs.jobs USING btree (queue_id, ((- priority)), "position") WHERE ((state = 'ready'::dibs.job_state) AND (fairness_key IS NULL));

CREATE INDEX jobs_scheduled ON dibs.jobs USING btree (run_at, queue_id, "position") WHERE (state = 'scheduled'::dibs.job_state);

CREATE INDEX jobs_session ON dibs.jobs USING btree (session_id) WHERE ((session_id IS NOT NULL) AND dibs.by_index((state = 'leased'::dibs.job_state)));

CREATE UNIQUE INDEX jobs_unique ON dibs.jobs USING btree (queue_id, unique_key) WHERE ((unique_key IS NOT NULL) AND (state = ANY (ARRAY['scheduled'::dibs.job_state, 'ready'::dibs.job_state, 'blocked'::dibs.job_state, 'leased'::dibs.job_state])));

CREATE INDEX jobs_unique_key ON dibs.jobs USING btree (queue_id, unique_key, id) WHERE (unique_key IS NOT NULL);

CREATE INDEX operations_running ON dibs.operations USING btree (id) WHERE (state = 'running'::text);

CREATE INDEX placements_first_part ON dibs.placements USING btree (first_part, queue_id);

CREATE INDEX queues_narrowing ON dibs.queues USING btree (id) WHERE is_narrowing;

CREATE INDEX relay_queue ON dibs.relay USING btree (queue_id, place);

CREATE UNIQUE INDEX relocations_open ON dibs.relocations USING btree (queue_id) WHERE ((phase <> 'ended'::text) AND (NOT dry_run));

CREATE INDEX relocations_work ON dibs.relocations USING btree (id) WHERE (phase <> 'ended'::text);

CREATE INDEX repeatable_claims_until ON dibs.repeatable_claims USING btree (until);

CREATE INDEX schedules_next ON dibs.schedules USING btree (next_run_at) WHERE ((next_run_at IS NOT NULL) AND (retry_at IS NULL));

CREATE INDEX schedules_retry ON dibs.schedules USING btree (GREATEST(next_run_at, retry_at)) WHERE ((next_run_at IS NOT NULL) AND (retry_at IS NOT NULL));

CREATE INDEX sessions_ends_at ON dibs.sessions USING btree (ends_at) WHERE (ends_at IS NOT NULL);

CREATE INDEX sessions_guests ON dibs.sessions USING btree (id) WHERE (is_guest AND (NOT ended));

CREATE INDEX sessions_owner ON dibs.sessions USING btree (owner);

CREATE INDEX sessions_replica ON dibs.sessions USING btree (replica) WHERE (replica IS NOT NULL);

CREATE INDEX unique_windows_until ON dibs.unique_windows USING btree (until);

-- views and triggers

CREATE CONSTRAINT TRIGGER batch_ends_look AFTER INSERT ON dibs.batch_ends DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.looks) EXECUTE FUNCTION dibs.look_at_batches();

CREATE TRIGGER batch_followers_lost AFTER DELETE ON dibs.batch_followers FOR EACH ROW WHEN ((old.joins IS NOT NULL)) EXECUTE FUNCTION dibs.note_lost_follower();

CREATE TRIGGER jobs_batch_delete AFTER DELETE ON dibs.jobs FOR EACH ROW WHEN (((old.batch_id IS NOT NULL) AND (old.state <> 'completed'::dibs.job_state))) EXECUTE FUNCTION dibs.note_batch_end();

CREATE TRIGGER jobs_batch_end AFTER UPDATE OF finished_at, moved_to ON dibs.jobs FOR EACH ROW WHEN (((new.batch_id IS NOT NULL) AND (old.state <> new.state) AND ((new.state = ANY (ARRAY['completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state])) OR (old.state = ANY (ARRAY['completed'::dibs.job_state, 'cancelled'::dibs.job_state, 'dead'::dibs.job_state]))))) EXECUTE FUNCTION dibs.note_batch_end();

CREATE TRIGGER jobs_dead_letter AFTER UPDATE OF finished_at ON dibs.jobs FOR EACH ROW WHEN (((new.state = 'dead'::dibs.job_state) AND (old.state <> 'dead'::dibs.job_state))) EXECUTE FUNCTION dibs.dead_letter();

CREATE TRIGGER jobs_history AFTER UPDATE OF queue_id, finished_at ON dibs.jobs FOR EACH ROW WHEN (((old.queue_id <> new.queue_id) OR (new.cancel_requested AND (NOT old.cancel_requested) AND (new.state = 'leased'::dibs.job_state)) OR ((new.state <> 'leased'::dibs.job_state) AND (new.state <> 'completed'::dibs.job_state) AND ((old.state = 'leased'::dibs.job_state) OR ((old.state = 'dead'::dibs.job_state) <> (new.state = 'dead'::dibs.job_state)) OR ((new.state = 'cancelled'::dibs.job_state) AND (old.state <> 'cancelled'::dibs.job_state)) OR ((old.lease_token IS NOT NULL) AND (new.lease_token IS NULL)) OR (new.attempt < old.attempt))))) EXECUTE FUNCTION dibs.note_history();

CREATE TRIGGER placements_counted AFTER INSERT OR DELETE OR UPDATE OF database ON dibs.placements FOR EACH ROW EXECUTE FUNCTION dibs.count_placement();

CREATE TRIGGER queues_placed BEFORE INSERT ON dibs.queues FOR EACH ROW EXECUTE FUNCTION dibs.place_at_home();

CREATE TRIGGER queues_unplaced AFTER DELETE ON dibs.queues FOR EACH ROW EXECUTE FUNCTION dibs.unplace_at_home();
