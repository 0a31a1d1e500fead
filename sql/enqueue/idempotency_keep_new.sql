-- Keeps the jobs :ids, which this transaction has inserted, under the keys of their requests. It fails when one of the keys
-- has a record, even one that has expired. Nothing is kept when the jobs are not there, because their queue is gone.
-- The ids ascend. :firsts has the first id of each request, and the other arrays have its values in the same place.
-- All statements take keys in one order, so that no two of them can deadlock.
insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, jobs, open_until)
select
  (:routes::text[])[n] as route,
  (:keys::text[])[n] as key,
  decode((:fingerprints::text[])[n], 'hex'),
  now() + interval '24 hours',
  kept.jobs,
  now() + (:open_seconds::double precision[])[n] * interval '1 second'
from (
  select
    width_bucket(j.id, :firsts::uuid[]) as n,
    array_agg(
      row(
        -- include shared/kept_values.sql
      )::dibs.kept_job
      order by j.id
    ) as jobs
  from dibs.jobs j
  where j.queue_id = :queue_id and j.id = any (:ids::uuid[])
  group by n
) as kept
order by route, key;
