-- The jobs to insert, a row for each. The array of a column that no job has may be null: unnest fills it up.
-- Generated from src/jobFields.ts by "npm run generate".
unnest(
  :ids::uuid[], :delays::double precision[], :run_ats::timestamptz[], :priorities::smallint[], :max_attempts::integer[],
  :backoffs::text[], :headers::text[], :payloads::text[], :unique_keys::text[], :windows::double precision[],
  :groups::text[], :fairness_keys::text[], :expiries::double precision[], :waits::double precision[]
) as new (
  id, delay_seconds, run_at, priority, max_attempts, backoff, headers, payload, unique_key, unique_for_seconds, group_key,
  fairness_key, expires_in_seconds, awaited_seconds
)
