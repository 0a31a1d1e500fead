-- Inserts the jobs of requests with an idempotency key, and keeps them under the keys. A request is passed over when its key has a
-- record, even one that has expired. No row comes back when the queue is gone.
-- One row without an id comes back for all jobs that are ready. One without a state comes back for each job that was passed over.
-- The ids ascend. :firsts has the first id of each request, and the arrays of texts have those of the request in the same place.
-- IS TRUE makes the look-up of keys a hash. As a join, it would compare each request with each key.
-- enqueue/insert_new_once.sql does the same for requests whose keys are all new, in less time.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
-- include shared/once_asked.sql
,
taken as (
  -- include shared/once_records.sql
  on conflict (route, key) do nothing
  returning route, key
),
new as (
  select asked.*
  from asked
  where (((:routes::text[])[n], (:keys::text[])[n]) in (select route, key from taken)) is true
),
inserted as (
  -- include shared/insert_jobs.sql
  returning id
)
select distinct
  case when state <> 'ready' then asked.id end as id,
  state,
  decided_run_at as run_at,
  now() as created_at
from asked
where (asked.id in (select id from inserted)) is true
union all
select asked.id, null, null, null
from queue
cross join asked
where (asked.id in (select id from inserted)) is not true;
