-- The one job to insert, as a row. The array of a column that it does not have may be null.
-- Generated from src/jobFields.ts by "npm run generate".
(
  select
    (:ids::uuid[])[1] as id,
    (:delays::double precision[])[1] as delay_seconds,
    (:run_ats::timestamptz[])[1] as run_at,
    (:priorities::smallint[])[1] as priority,
    (:max_attempts::integer[])[1] as max_attempts,
    (:backoffs::text[])[1] as backoff,
    (:headers::text[])[1] as headers,
    (:payloads::text[])[1] as payload,
    (:unique_keys::text[])[1] as unique_key,
    (:windows::double precision[])[1] as unique_for_seconds,
    (:groups::text[])[1] as group_key,
    (:fairness_keys::text[])[1] as fairness_key,
    (:expiries::double precision[])[1] as expires_in_seconds,
    (:waits::double precision[])[1] as awaited_seconds
) as new
