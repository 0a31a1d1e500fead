-- Inserts the jobs of requests with an Idempotency-Key, and keeps the answers. A request whose key has
-- an answer, or had one that is not deleted yet, is passed over. No row comes back when the queue is gone.
-- One row without an id comes back for all jobs that are ready, and one without a state for each job of a request that was passed
-- over.
-- The ids ascend. :firsts has the first id of each request, and the arrays of texts have those of the request in the same place.
-- An answer has marks where it shows what is decided here. A request with several jobs has only such for which that is the same.
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
