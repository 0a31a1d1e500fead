-- Inserts the jobs of requests with an Idempotency-Key, and keeps the answers. A request whose key has
-- an answer, or had one that is not deleted yet, is passed over. No row comes back when the queue is gone.
-- One row without an id comes back for all jobs that are ready, and one without a state for each job of a request that was passed
-- over.
-- The ids ascend. :firsts has the first id of each request, and the arrays of texts have those of the request in the same place.
-- An answer has marks where it shows what is decided here. A request with several jobs has only such for which that is the same.
-- All statements take keys in one order, so that no two of them can deadlock.
-- IS TRUE makes the look-up of keys a hash. As a join, it would compare each request with each key.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
asked as materialized (
  select
    new.*, null::bigint as position,
    (:routes::text[])[n] as route,
    (:keys::text[])[n] as key,
    n,
    -- include shared/new_job_state.sql
    as state,
    to_char(greatest(due.run_at, now()) at time zone 'UTC',
      -- include shared/answered_time.sql
    ) as answered_run_at
  from
  -- include shared/new_jobs.sql
  cross join lateral (
    select width_bucket(new.id, :firsts::uuid[]) as n
  ) as place
  cross join lateral (
    select
      -- include shared/new_job_due.sql
  ) as due
),
moment as materialized (
  select
    to_char(now() at time zone 'UTC',
      -- include shared/answered_time.sql
    ) as created_at
),
taken as (
  insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, status, location, body, open_until)
  select
    route, key, decode((:fingerprints::text[])[n], 'hex'), now() + interval '24 hours',
    (:statuses::smallint[])[n], (:locations::text[])[n],
    replace(
      replace(
        replace((:bodies::text[])[n], :state_mark::text, state::text),
        :run_at_mark::text, answered_run_at
      ),
      :created_at_mark::text, moment.created_at
    ),
    now() + (:open_seconds::double precision[])[n] * interval '1 second'
  from queue
  cross join moment
  cross join asked
  where asked.id = (:firsts::uuid[])[n]
  order by route, key
  on conflict (route, key) do nothing
  returning route, key
),
new as (
  select asked.*, false as is_head
  from asked
  where ((route, key) in (select route, key from taken)) is true
),
inserted as (
  -- include shared/insert_jobs.sql
  returning id, state
)
select distinct
  case when asked.state <> 'ready' then asked.id end as id,
  asked.state,
  answered_run_at as run_at,
  moment.created_at
from asked
cross join moment
where (asked.id in (select id from inserted)) is true
union all
select asked.id, null, null, null
from queue
cross join asked
where (asked.id in (select id from inserted)) is not true;
