-- Inserts the jobs of requests with an idempotency key, and keeps them under the keys. It fails when one of the keys has a record.
-- Then enqueue/insert_once.sql does the work. ON CONFLICT and the search for what was passed over cost a tenth of the time.
-- No row comes back when the queue is gone. One row without an id comes back for all jobs that are ready.
-- The parameters are those of insert_once.sql.
with queue as materialized (
  select id from dibs.queues where id = :queue_id for key share
),
-- include shared/once_asked.sql
,
taken as (
  -- include shared/once_records.sql
),
new as (
  select * from asked
),
inserted as (
  -- include shared/insert_jobs.sql
)
select distinct
  case when state <> 'ready' then asked.id end as id,
  state,
  decided_run_at as run_at,
  now() as created_at
from queue
cross join asked;
