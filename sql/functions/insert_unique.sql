-- Inserts jobs, with and without unique keys. Returns a row for each job: the job itself or, when another job holds its
-- key, that job. No row comes back when the queue is gone.
-- No key may come twice. The keys must ascend, so that two calls cannot deadlock. The jobs still get their positions in
-- the order of their ids.
-- It waits for an open transaction that has taken one of the keys, or is about to free it.
-- A holder of one of the keys `replacing` that waits becomes as the new job asks. It keeps its id, group and attempts. It gets a
-- new position where changing/change.sql gives one. A holder that is claimed at this moment stays as it is.
--
-- Between the look at the holders of the keys and the insert, another job may take a key and may even finish. If it is
-- unfinished, the insert leaves our job out, and the next look finds the holder. If it has finished, only the window that
-- it opened can still hold the key: the function looks for that window after the insert, and takes our job back.
--
-- A claim frees the keys `freeing`. `batches` has the batch of each job that is in one, by the id of the job.
--
-- It runs without sequential scans: a plan that was made while the table of windows was empty would be kept.
create or replace function dibs.insert_unique(
  queue integer, asked dibs.new_job[], replacing text[] default '{}', batches jsonb default null,
  freeing text[] default '{}'
)
returns setof dibs.jobs
language plpgsql
set enable_seqscan = off
as $function$
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
          -- include shared/may_be_ready.sql of=job
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
      -- include shared/insert_jobs.sql
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

revoke all on function dibs.insert_unique from public;
