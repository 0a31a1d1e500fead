-- Inserts jobs of which some have unique keys, and returns a row for each: the job itself or, where another holds its key,
-- that one. No key may come twice, and those of several jobs ascend, so that two such calls cannot deadlock; the jobs
-- arrive in the order of their ids all the same. No row comes back when the queue is gone.
--
-- Between the look at who holds a key and the insertion, another job may take the key, and may be done again. If it is not
-- done, the insertion leaves ours out, and the next look finds it. If it is, only the window that it opened can still
-- hold the key: that is looked for when ours is in, and keeps others out.
--
-- Without sequential scans: a plan that was made while the table of windows was empty would be kept.
create or replace function dibs.insert_unique(
  queue integer,
  ids uuid[],
  delays double precision[],
  times timestamptz[],
  priorities smallint[],
  attempts integer[],
  backoffs text[],
  headings text[],
  payloads text[],
  keys text[],
  groups text[],
  fairness_keys text[],
  expiries double precision[],
  awaits double precision[],
  windows double precision[]
)
returns setof dibs.jobs
language plpgsql
set enable_seqscan = off
as $function$
#variable_conflict use_column
declare
  job dibs.jobs;
  opened dibs.unique_windows;
  held text[];
  done uuid[];
  places bigint[];
begin
  perform from dibs.queues where id = $1 for key share;
  if not found then
    return;
  end if;

  loop
    held := '{}';
    for job in
      select holder.*
      from unnest(keys) as asked (key)
      cross join lateral (
        select *
        from dibs.jobs
        where queue_id = $1
          and unique_key = asked.key
          and state in ('scheduled', 'ready', 'blocked', 'leased')
        offset 0
      ) as holder
    loop
      return next job;
      held := held || job.unique_key;
    end loop;

    for opened in
      select holder.*
      from unnest(keys) as asked (key)
      cross join lateral (
        select *
        from dibs.unique_windows
        where queue_id = $1 and unique_key = asked.key and until > clock_timestamp()
        offset 0
      ) as holder
      where asked.key <> all (held)
    loop
      return query select * from dibs.jobs where queue_id = $1 and id = opened.job_id;
      if not found then
        job := null;
        job.id := opened.job_id;
        job.state := 'completed';
        job.unique_key := opened.unique_key;
        job.run_at := opened.run_at;
        job.created_at := opened.created_at;
        job.priority := opened.priority;
        job.attempt := 0;
        job.max_attempts := opened.max_attempts;
        job.deliveries := 0;
        job.group_key := opened.group_key;
        job.fairness_key := opened.fairness_key;
        job.headers := opened.headers;
        return next job;
      end if;
      held := held || opened.unique_key;
    end loop;

    done := array(
      select asked.id from unnest(ids, keys) as asked (id, key) where asked.key = any (held)
    );
    if done = '{}' then
      places := array(
        select nextval('dibs.positions') from generate_series(1, cardinality(ids))
      );
      places := array(
        select places[rank() over (order by asked.id)]
        from unnest(ids) with ordinality as asked (id, n)
        order by asked.n
      );
      perform dibs.insert_jobs(
        $1, ids, delays, times, priorities, attempts, backoffs, headings, payloads,
        keys, groups, fairness_keys, expiries, awaits, places
      );

      held := array(
        select unique_key
        from dibs.unique_windows
        where queue_id = $1 and unique_key = any (keys) and until > clock_timestamp()
      );
      if held <> '{}' then
        delete from dibs.jobs where queue_id = $1 and id = any (ids) and unique_key = any (held);
      end if;

      for job in
        select inserted.*
        from unnest(ids) as asked (id)
        cross join lateral (
          select * from dibs.jobs where queue_id = $1 and id = asked.id offset 0
        ) as inserted
      loop
        return next job;
        done := done || job.id;
      end loop;

      insert into dibs.unique_windows as before
        (queue_id, unique_key, until, job_id, run_at, created_at, priority, max_attempts, group_key, fairness_key, headers)
      select
        $1, inserted.unique_key, clock_timestamp() + asked.seconds * interval '1 second', inserted.id, inserted.run_at,
        inserted.created_at, inserted.priority, inserted.max_attempts, inserted.group_key, inserted.fairness_key,
        inserted.headers
      from unnest(ids, windows) as asked (id, seconds)
      cross join lateral (
        select * from dibs.jobs where queue_id = $1 and id = asked.id offset 0
      ) as inserted
      where asked.seconds > 0
      on conflict (queue_id, unique_key) do update
      set
        until = excluded.until,
        job_id = excluded.job_id,
        run_at = excluded.run_at,
        created_at = excluded.created_at,
        priority = excluded.priority,
        max_attempts = excluded.max_attempts,
        group_key = excluded.group_key,
        fairness_key = excluded.fairness_key,
        headers = excluded.headers;
    end if;

    exit when cardinality(done) = cardinality(ids);
    select
      array_agg(rest.id order by n),
      array_agg(rest.delay order by n),
      array_agg(rest.time order by n),
      array_agg(rest.priority order by n),
      array_agg(rest.attempts order by n),
      array_agg(rest.backoff order by n),
      array_agg(rest.heading order by n),
      array_agg(rest.payload order by n),
      array_agg(rest.key order by n),
      array_agg(rest.group_key order by n),
      array_agg(rest.fairness_key order by n),
      array_agg(rest.expiry order by n),
      array_agg(rest.awaited order by n),
      array_agg(rest.seconds order by n)
    into
      ids, delays, times, priorities, attempts, backoffs, headings, payloads,
      keys, groups, fairness_keys, expiries, awaits, windows
    from unnest(
      ids, delays, times, priorities, attempts, backoffs, headings, payloads,
      keys, groups, fairness_keys, expiries, awaits, windows
    ) with ordinality as rest (
      id, delay, time, priority, attempts, backoff, heading, payload,
      key, group_key, fairness_key, expiry, awaited, seconds, n
    )
    where rest.id <> all (done);
  end loop;
end;
$function$;

revoke all on function dibs.insert_unique from public;
