-- Under an Idempotency-Key, Dibs keeps the jobs of a request, not the text of its answer: see docs/decisions/0059-kept-jobs.md.
-- oldest: 24
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
  run_at timestamptz,
  created_at timestamptz,
  -- JSON as it was sent. Null where the answer has no payload.
  headers text,
  lease_expires_at timestamptz,
  finished_at timestamptz,
  worker text,
  last_error text,
  progress text,
  result text,
  payload text,
  -- An enqueue found this job under its unique key.
  deduplicated boolean
);

alter table dibs.idempotency_keys
  -- The jobs as the first answer told them. They count while the status is 503. With another status, a Dibs before this migration
  -- has written the record, and the answer is its status, location and body.
  add column jobs dibs.kept_job[],
  -- An older replica that is asked again gives these two as its answer. Then the client asks again, maybe a replica that knows the jobs.
  alter column status set default 503,
  alter column body set default
    '{"type":"urn:problem-type:dibs:unavailable","title":"The service is temporarily unavailable","status":503,"detail":"This replica runs an older Dibs than the one that took the request. Repeat it with the same key.","code":"unavailable","outcome":"unknown"}';
