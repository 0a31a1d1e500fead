-- Inserts jobs of which some have unique keys: what enqueue.sql takes, and how long each key stays taken after the enqueue.
-- See sql/functions/insert_unique.sql for what comes back.
select
  id, state, priority, attempt, max_attempts, deliveries, run_at, created_at,
  group_key as "group", fairness_key, unique_key,
  lease_expires_at, finished_at, worker, last_error, headers, progress, result
from dibs.insert_unique(
  $1, $2::uuid[], $3::double precision[], $4::timestamptz[], $5::smallint[], $6::integer[],
  $7::text[], $8::text[], $9::text[],
  $10::text[], $11::text[], $12::text[], $13::double precision[], $14::double precision[],
  $15::double precision[]
);
